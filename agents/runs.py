"""A run as it is told and kept: see `jobs.events` for its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from agents.errors import PathOutside
from agents.installed import belongs_to_install, with_packages
from agents.paths import checked
from agents.ports import Artifact, Ports, Workspace
from agents.repair.classify import classify
from agents.repair.covered import covered_up
from agents.repair.failure import PROGRAM, FailureClass
from agents.state import Run
from agents.texts import head_and_tail
from sandbox.protocol import Command, Limits, RunResult, Stream

EXECUTOR: Final = "executor"
_COVERS = frozenset({"python", "shell"})
"""Tools whose exit code is what a program makes of it."""
CACHES = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"})


@dataclass(frozen=True, slots=True)
class Ran:
    """A run's record, and the result that it was made of."""

    run: Run
    result: RunResult


@dataclass(frozen=True, slots=True)
class Program:
    """What a run runs: for which `tool`, as `text` that people read, and as a room is told it.

    `seconds` is the time it may take, where that is less than the job's limit.
    """

    tool: str
    text: str
    argv: tuple[str, ...]
    stdin: bytes = b""
    seconds: float | None = None

    @classmethod
    def python(cls, code: str) -> Program:
        """`code` as `sandbox.protocol.Command.python` has it."""
        return cls("python", code, Command.python(code).argv)

    def within(self, limits: Limits) -> Limits:
        """The job's `limits`, as they hold for this program."""
        if self.seconds is None:
            return limits
        return replace(limits, wall_seconds=min(limits.wall_seconds, self.seconds))


async def run_code(ports: Ports, code: str, number: int, revision: int, by: str) -> Ran:
    """Run `code` in a fresh room with the workspace's files, and keep what it left.

    Raises what the sandbox raises: its trouble is not the code's failure.
    """
    program = Program.python(code)
    result = await in_room(ports, program)
    return await recorded(ports, program, result, number, revision, by)


async def in_room(ports: Ports, program: Program) -> RunResult:
    """Run it in a fresh room with the workspace's files, and the packages that are installed there;
    nothing of it is kept yet.
    """
    files = with_packages(await ports.workspace.files())
    command = Command(program.argv, files, program.stdin)
    result = await ports.sandbox.run(command, program.within(ports.limits))
    changed = {path: data for path, data in result.changed.items() if not _is_cache(path)}
    return result if len(changed) == len(result.changed) else replace(result, changed=changed)


async def recorded(
    ports: Ports,
    program: Program,
    result: RunResult,
    number: int,
    revision: int,
    by: str,
    *,
    lack: str | None = None,
    tests: dict[str, Any] | None = None,
) -> Ran:
    """Keep what a run left; its record.

    `lack` says why an exit code of 0 shows nothing all the same. `tests` tells of tests that it
    made.
    """
    on = ports.workspace.digest
    files = await ports.workspace.files()
    if program.tool in _COVERS:
        lack = lack or covered_up(program.tool, program.text, files, result)
    changed, nameless = _storable(result.changed)
    deleted = frozenset(path for path in result.deleted if not belongs_to_install(path))
    artifacts: Sequence[Artifact] = ()
    if changed or deleted:
        artifacts = await ports.workspace.apply(changed, deleted)
    kept = ports.bounds.kept
    # Nothing was shown by running nothing.
    succeeded = result.succeeded and lack is None and not _void(program.text)
    run: Run = {
        "id": f"r{number}",
        "number": number,
        "revision": revision,
        "by": by,
        "tool": program.tool,
        "code": await kept_text(ports.workspace, program.text, kept),
        "end": result.end.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": await _kept(ports.workspace, result.stdout, kept),
        "stderr": await _kept(ports.workspace, result.stderr, kept),
        "seconds": round(result.seconds, 3),
        "succeeded": succeeded,
        "failure": None if succeeded else failure(result, program, files, lack),
        "on": on,
        "workspace": ports.workspace.digest,
        "artifacts": [asdict(artifact) for artifact in artifacts],
        "refused": [*result.refused, *nameless],
    }
    if program.seconds is not None:
        run["wall_seconds"] = program.within(ports.limits).wall_seconds
    if tests is not None:
        run["tests"] = tests
    return Ran(run, result)


def last_number(runs: Sequence[Run]) -> int:
    """The highest number that a run bears, 0 where there is none. It may be more than there are
    runs: branches do not all make as many as their neighbours."""
    return max((run["number"] for run in runs), default=0)


def failure(
    result: RunResult, program: Program, files: Mapping[str, bytes], lack: str | None = None
) -> dict[str, Any]:
    """{class, cause, exception} of a run of `program` over `files` that did not succeed."""
    sources = {**files, PROGRAM: program.text.encode(errors="replace")}
    told = classify(result, sources, shell=program.tool == "shell").fields()
    return {**told, "cause": lack} if lack and told["class"] == FailureClass.UNKNOWN else told


def _is_cache(path: str) -> bool:
    """Whether a file is what a program keeps for its next start: no work of the job's."""
    return not CACHES.isdisjoint(path.split("/"))


def _void(code: str) -> bool:
    """Whether there is nothing to run: blank lines and comments."""
    return all(not line.strip() or line.lstrip().startswith("#") for line in code.splitlines())


def _storable(changed: Mapping[str, bytes]) -> tuple[dict[str, bytes], list[str]]:
    """The files that a workspace can hold, and in words those that it cannot."""
    files: dict[str, bytes] = {}
    refused: list[str] = []
    for path, content in changed.items():
        if belongs_to_install(path):
            refused.append(f"{path}: only install puts files there")
            continue
        try:
            files[checked(path)] = content
        except PathOutside as error:
            refused.append(str(error))
    return files, refused


async def kept_text(workspace: Workspace, text: str, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest} of a text that is all there."""
    return await _kept(workspace, Stream(text), limit)


async def _kept(workspace: Workspace, stream: Stream, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest}: of a long text its head and tail, and the whole by digest."""
    digest = None
    if len(stream.text) > limit:
        digest = await workspace.keep(stream.text.encode(errors="replace"))
    text = head_and_tail(stream.text, limit)
    return {"text": text, "dropped_bytes": stream.dropped_bytes, "digest": digest}
