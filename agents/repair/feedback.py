"""What follows a run of the executor: a hint for the model, and the event of a repair.

A failure is repaired when a verification passes after one that failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import ToolMessage

from agents.attempt import Ports
from agents.failures.hints import hint_of
from agents.failures.workspace_change import UnifiedDiff, change
from agents.history import runs_in, this_pass, traces
from agents.models.replies.fields import answered_by
from agents.ports import Version
from agents.prompts import render
from agents.repair.escalation import Escalation, escalation, rounds, symptom
from agents.runs.program import VERIFY
from agents.runs.record import EXECUTOR, kept_text, whole_program
from agents.state import Run

FILES_COMPARED = 20
BYTES_COMPARED = 256 * 1024


@dataclass(frozen=True, slots=True)
class RunFeedback:
    """`text` is for the model; `repaired` is the data of the event, if the run was a repair."""

    text: str = ""
    repaired: dict[str, Any] | None = None


def escalation_of(state: Mapping[str, Any], ports: Ports) -> Escalation:
    """The escalation of a pass (its inner state)."""
    levels = ports.models.levels(EXECUTOR)
    return escalation(rounds(this_pass(state["messages"])), state["request"].first_level, levels)


async def after_run(
    run: Run, state: Mapping[str, Any], answers: Sequence[ToolMessage], ports: Ports
) -> RunFeedback:
    """The feedback after a `run`. `state`: the state of the pass at its latest reply. `answers`:
    the answers to the reply's calls so far, of which the last is the answer to the run."""
    earlier = runs_in(traces([*this_pass(state["messages"]), *answers[:-1]]))
    if not run["succeeded"]:
        return RunFeedback(_hint(run, earlier, ports))
    failures = failed_verifications([*state["request"].failed_verifications, *earlier])
    level = escalation_of(state, ports).level
    model = answered_by(state["messages"][-1]) or ports.models.name(EXECUTOR, level)
    return RunFeedback("", await repaired(run, failures, model, level, ports))


def taken_over(state: Mapping[str, Any], answers: Sequence[ToolMessage], ports: Ports) -> str:
    """The text for a stronger model that takes over after the `answers` to the calls of the latest
    reply; empty if the same model continues."""
    after = escalation_of({**state, "messages": [*state["messages"], *answers]}, ports)
    if after.level == escalation_of(state, ports).level:
        return ""
    return render("executor/taken_over", tried=after.tried).strip()


def failed_verifications(runs: Sequence[Run]) -> list[Run]:
    """The verifications among `runs` that failed since the last success, oldest first."""
    failures: list[Run] = []
    for run in runs:
        if run.get("tool") == VERIFY:
            failures = [] if run["succeeded"] else [*failures, run]
    return failures


async def repaired(
    run: Run, failures: Sequence[Run], model: str, level: int, ports: Ports
) -> dict[str, Any] | None:
    """The data of the event `repaired`; None if `run` is no verification, or none had failed."""
    if run.get("tool") != VERIFY or not failures:
        return None
    failed = failures[-1]
    failure: Mapping[str, Any] = failed.get("failure") or {}
    difference = await _change(failed, run, ports)
    return {
        "run": run["id"],
        "of": failed["id"],
        "revision": run["revision"],
        "class": failure.get("class", "unknown"),
        "cause": failure.get("cause", ""),
        "model": model,
        "level": level,
        "attempt": len(failures),
        "lines": {"added": difference.added, "removed": difference.removed},
        "diff": await kept_text(ports.workspace, difference.diff, ports.bounds.inline_characters),
    }


def _hint(run: Run, earlier: Sequence[Run], ports: Ports) -> str:
    """The hint after a failed run, if there is one; `earlier` are the other runs of the pass."""
    same = [previous["id"] for previous in earlier if _fails_alike(previous, run)]
    return render(
        "executor/hint",
        hint=hint_of(run, ports.workspace.list()),
        limits=ports.limits,
        seconds=run.get("wall_seconds", ports.limits.wall_seconds),
        fetch=ports.pages is not None,
        same=same[-1] if same else None,
    ).strip()


def _fails_alike(earlier: Run, run: Run) -> bool:
    """Whether `earlier` failed as `run` does, although files were changed in between."""
    if earlier["succeeded"] or earlier["workspace"] == run["on"]:
        return False
    return symptom(earlier) == symptom(run)


async def _change(failed: Run, run: Run, ports: Ports) -> UnifiedDiff:
    """The change between two runs: the command, and the files written in between."""
    before: dict[str, bytes | None] = {"command": await whole_program(failed, ports)}
    after: dict[str, bytes | None] = {"command": await whole_program(run, ports)}
    was = await ports.workspace.manifest(failed["workspace"])
    now = await ports.workspace.manifest(run["on"])
    names = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
    remaining_bytes = BYTES_COMPARED
    for name in names[:FILES_COMPARED]:
        pair = [await _bytes(name, files.get(name), ports) for files in (was, now)]
        remaining_bytes -= sum(len(content or b"") for content in pair)
        if remaining_bytes < 0:
            break
        before[name], after[name] = pair
    return change(before, after)


async def _bytes(name: str, version: Version | None, ports: Ports) -> bytes | None:
    """The bytes of a version. A link has the bytes of its target; without a version, the bytes of
    the file in the repository, or None."""
    workspace = ports.workspace
    if version is None:
        return await workspace.original(name)
    if version.target is not None:
        return version.target.encode()
    return await workspace.stored(version.digest)
