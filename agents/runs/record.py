"""The record of a run; `jobs.model.events` documents its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from agents.attempt import Ports
from agents.failures.classify import classify, of_verification
from agents.failures.failure import FailureClass
from agents.paths import is_in_setup, is_scratch
from agents.ports import Artifact, Workspace
from agents.runs.kept_files import changes_in_submodules, choose_kept
from agents.runs.program import VERIFY, Program, ProgramResult, execute
from agents.runs.shell_marks import SHELL
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
    """Run the program over the workspace's files, and store the files that it left. Raises the
    sandbox's errors."""
    program_result = await execute(ports, program, await ports.workspace.tree(), run_id(number))
    recorded_run = await recorded(ports, program, program_result, number, revision, by)
    return recorded_run, program_result


async def recorded(
    ports: Ports,
    program: Program,
    program_result: ProgramResult,
    number: int,
    revision: int,
    by: str,
) -> RecordedRun:
    """Store the files and outputs of a run; returns its record."""
    result, on = program_result.result, ports.workspace.digest
    deleted = frozenset(path for path in result.deleted if not is_in_setup(path))
    kept_files = await choose_kept(ports, {**result.changed, **result.links}, deleted)
    changed, links = kept_files.files, kept_files.links
    deleted |= {*kept_files.dropped}
    artifacts: Sequence[Artifact] = ()
    if changed or deleted or links:
        modes = {path: path in result.executable for path in changed}
        artifacts = await ports.workspace.apply(changed, deleted, executable=modes, links=links)
    lost = changes_in_submodules(ports.workspace, {*changed, *links, *deleted})
    length = ports.bounds.inline_characters
    run: Run = {
        "id": run_id(number),
        "number": number,
        "revision": revision,
        "by": by,
        "tool": program.tool,
        "code": await kept_text(ports.workspace, program.text, length),
        "end": result.end.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": await kept_stream(ports.workspace, result.stdout, length),
        "stderr": await kept_stream(ports.workspace, result.stderr, length),
        "seconds": round(result.seconds, 3),
        "succeeded": program_result.passed,
        "failure": None if program_result.passed else failure(program_result, program),
        "on": on,
        "workspace": ports.workspace.digest,
        "artifacts": [artifact.fields() for artifact in artifacts if not is_scratch(artifact.name)],
        "refused": [*result.refused, *kept_files.reasons, *lost],
    }
    if program.seconds is not None:
        run["wall_seconds"] = program.within(ports.limits).wall_seconds
    if program_result.report is not None:
        run["tests"] = program_result.report.fields()
    return RecordedRun(run, replace(result, changed=changed, links=links))


def run_id(number: int) -> str:
    """The id of the job's run with this number."""
    return f"r{number}"


def last_number(runs: Sequence[Run]) -> int:
    """The highest number of a run, 0 without runs. It can exceed the number of runs: parallel
    branches leave gaps."""
    return max((run["number"] for run in runs), default=0)


async def whole_program(run: Run, ports: Ports) -> bytes:
    """The full code or command of a run."""
    code = run["code"]
    return await ports.workspace.stored(code["digest"]) if code["digest"] else code["text"].encode()


def failure(program_result: ProgramResult, program: Program) -> dict[str, Any]:
    """{class, cause, exception} of a run of `program` that failed."""
    verifies, result = program.tool == VERIFY, program_result.result
    report, shell = program_result.report, program_result.shell
    classified = classify(result, shell=verifies or program.tool == SHELL)
    note = shell.note if shell else None
    if classified.kind is FailureClass.UNKNOWN and (cause := program_result.problem or note):
        classified = replace(classified, cause=cause)
    elif note and result.end is not End.EXITED:
        classified = replace(classified, cause=f"{classified.cause}: {note}")
    if verifies:
        failed = report.first_failed if report else None
        reported = report is not None
        classified = of_verification(classified, result, reported=reported, failed=failed)
    return classified.fields()


async def kept_text(workspace: Workspace, text: str, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest} of a complete text."""
    return await kept_stream(workspace, Stream(text), limit)


async def kept_stream(workspace: Workspace, stream: Stream, limit: int) -> dict[str, Any]:
    """{text, dropped_bytes, digest}: the head and tail of a long text, and the digest of the full
    text."""
    digest = None
    if len(stream.text) > limit:
        digest = await workspace.keep(stream.text.encode(errors="replace"))
    text = head_and_tail(stream.text, limit)
    return {"text": text, "dropped_bytes": stream.dropped_bytes, "digest": digest}


def still_there(
    before: Mapping[str, ArtifactFields],
    new: Iterable[ArtifactFields],
    files: Mapping[str, int],
) -> dict[str, ArtifactFields]:
    """The latest version of each file that the job made and that still exists, by name."""
    latest = {**before, **{artifact["name"]: artifact for artifact in new}}
    return {name: artifact for name, artifact in sorted(latest.items()) if name in files}
