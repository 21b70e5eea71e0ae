"""The record of a run; `jobs.model.events` has its shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agents.attempt import Ports
from agents.failures.classify import classify, of_verification
from agents.failures.failure import FailureClass
from agents.paths import is_in_setup, is_scratch
from agents.ports import Artifact, Workspace
from agents.runs.kept_files import choose_kept
from agents.runs.program import VERIFY, Program, ProgramResult, execute
from agents.state import ArtifactFields, Run
from agents.texts import head_and_tail
from sandbox.protocol import End, RunResult, Stream

EXECUTOR: Final = "executor"


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """A run's record, and the result that it describes."""

    run: Run
    result: RunResult


async def run_and_keep(
    ports: Ports, program: Program, number: int, revision: int, by: str
) -> tuple[RecordedRun, ProgramResult]:
    """Run it over the workspace's files, and store what it left. Raises what the sandbox raises."""
    seen = await execute(ports, program, await ports.workspace.tree())
    return await recorded(ports, program, seen, number, revision, by), seen


async def recorded(
    ports: Ports,
    program: Program,
    seen: ProgramResult,
    number: int,
    revision: int,
    by: str,
) -> RecordedRun:
    """Store what a run left; returns its record."""
    result, on = seen.result, ports.workspace.digest
    deleted = frozenset(path for path in result.deleted if not is_in_setup(path))
    kept_files = await choose_kept(ports, {**result.changed, **result.links}, deleted)
    changed, links = kept_files.files, kept_files.links
    artifacts: Sequence[Artifact] = ()
    if changed or deleted or links:
        modes = {path: path in result.executable for path in changed}
        artifacts = await ports.workspace.apply(changed, deleted, executable=modes, links=links)
    kept = ports.bounds.inline_characters
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
        "stdout": await kept_stream(ports.workspace, result.stdout, kept),
        "stderr": await kept_stream(ports.workspace, result.stderr, kept),
        "seconds": round(result.seconds, 3),
        "succeeded": seen.passed,
        "failure": None if seen.passed else failure(seen, program),
        "on": on,
        "workspace": ports.workspace.digest,
        "artifacts": [each.fields() for each in artifacts if not is_scratch(each.name)],
        "refused": [*result.refused, *kept_files.reasons],
    }
    if program.seconds is not None:
        run["wall_seconds"] = program.within(ports.limits).wall_seconds
    if seen.report is not None:
        run["tests"] = seen.report.fields()
    return RecordedRun(run, replace(result, changed=changed, links=links))


def last_number(runs: Sequence[Run]) -> int:
    """The highest number of a run, 0 without runs. It can exceed the number of runs: parallel
    branches leave gaps."""
    return max((run["number"] for run in runs), default=0)


async def whole_program(run: Run, ports: Ports) -> bytes:
    """The full text of what was run."""
    code = run["code"]
    return await ports.workspace.stored(code["digest"]) if code["digest"] else code["text"].encode()


def failure(run: ProgramResult, program: Program) -> dict[str, Any]:
    """{class, cause, exception} of a run of `program` that failed."""
    verifies, report = program.tool == VERIFY, run.report
    classified = classify(run.result, shell=verifies or program.tool == "shell")
    note = run.shell.note if run.shell else None
    if classified.kind is FailureClass.UNKNOWN and (why := run.problem or note):
        classified = replace(classified, cause=why)
    elif note and run.result.end is not End.EXITED:
        classified = replace(classified, cause=f"{classified.cause}: {note}")
    if verifies:
        failed = report.first_failed if report else None
        reported = report is not None
        classified = of_verification(classified, run.result, reported=reported, failed=failed)
    return classified.fields()


async def kept_text(workspace: Workspace, text: str, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest} of a complete text."""
    return await kept_stream(workspace, Stream(text), limit)


async def kept_stream(workspace: Workspace, stream: Stream, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest}: of a long text its head and tail, and the whole by digest."""
    digest = None
    if len(stream.text) > limit:
        digest = await workspace.keep(stream.text.encode(errors="replace"))
    text = head_and_tail(stream.text, limit)
    return {"text": text, "dropped_bytes": stream.dropped_bytes, "digest": digest}


def still_there(
    before: Mapping[str, ArtifactFields],
    made: Iterable[ArtifactFields],
    files: Mapping[str, int],
) -> dict[str, ArtifactFields]:
    """By name, the latest version of each made file that is still in the workspace."""
    latest = {**before, **{artifact["name"]: artifact for artifact in made}}
    return {name: artifact for name, artifact in sorted(latest.items()) if name in files}
