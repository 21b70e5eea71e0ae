"""Escalation: which model continues after failed repairs of a pass, or that the pass ends. Pure.

A reply has failed if its last run has. It is a repair if files were changed since the reply that
ran something before, or if its last run is a verification that has failed before. Every other run
explores, and may fail any number of times. Its failure may be repaired next.

the same failure after a repair, or three repairs     -> the next model of the chain takes over
that failed in a row
no model is left: the same failure after three        -> the pass ends with the files so far
repairs, or seven repairs that failed in a row

See ADR 84.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from agents.failures.failure import FailureClass
from agents.history import Trace, run_in, runs_in, traces
from agents.runs.program import VERIFY
from agents.runs.sources import is_source
from agents.state import Run, text_in

PATIENCE = 2
"""Failed repairs in a row after which the next failed one makes the next model take over."""
MOST_UNCHANGED = 3
"""Repairs by the last model that do not change the failure, before a pass ends."""
LAST_PATIENCE = 6
"""Failed repairs in a row by the last model before a pass ends."""

_PLACE = re.compile(r", line \d+(?=[:)])")


@dataclass(frozen=True, slots=True)
class Escalation:
    """The consequence of the rounds of a pass."""

    level: int
    """The position of the next model in the executor's chain."""
    stopped: str | None = None
    """Why the pass has to end, if it has to."""
    tried: tuple[Run, ...] = ()
    """The failed repairs of the models so far."""
    repair_failed: bool = False
    """Whether the next model has just made a repair that failed."""


@dataclass(frozen=True, slots=True)
class Round:
    """A reply that ran something."""

    run: Run
    """The last run of the reply."""
    changed: bool = False
    """Whether tools or runs have changed files since the round before."""


def escalation(rounds: Sequence[Round], level: int, levels: int) -> Escalation:
    """The consequence of the `rounds` of a pass that began at `level`, out of `levels` models."""
    top, streak = max(levels - 1, level), 0
    failures: Counter[tuple[Any, ...]] = Counter()
    tried: list[Run] = []
    stopped = None
    for run, is_repair in _with_repairs(rounds):
        if run["succeeded"]:
            streak, stopped = 0, None
            if run.get("tool") == VERIFY:
                failures.clear()
                tried.clear()
            continue
        if not is_repair:
            failures[symptom(run)] = max(failures[symptom(run)], 1)
            continue
        streak += 1
        failures[symptom(run)] += 1
        tried.append(run)
        if level < top and (streak > PATIENCE or failures[symptom(run)] > 1):
            level, streak = level + 1, 0
            failures.clear()
        elif level == top:
            stopped = _stop_reason(run, failures[symptom(run)], streak)
    return Escalation(level, stopped, tuple(tried), repair_failed=streak > 1)


def rounds(messages: Sequence[AnyMessage]) -> list[Round]:
    """The rounds of a pass."""
    finished: list[Round] = []
    reply: list[Trace] = []
    changed = False
    for message in [*messages, None]:
        if message is not None and not isinstance(message, AIMessage):
            reply += traces([message])
            continue
        changed = changed or any(map(_changes_files, reply))
        if runs := runs_in(reply):
            finished.append(Round(runs[-1], changed))
            changed = False
        reply = []
    return finished


def _changes_files(trace: Trace) -> bool:
    """Whether a call has changed files. A run may write reports and data each time, so only a
    source file counts as its change."""
    if run_in(trace) is None:
        return bool(trace["files"])
    return any(is_source(file["name"]) for file in trace["files"])


def _with_repairs(rounds: Sequence[Round]) -> Iterator[tuple[Run, bool]]:
    """Each run, and whether it is a repair."""
    failed: set[str] = set()
    for round_ in rounds:
        run = round_.run
        command = text_in(run, "code") if run.get("tool") == VERIFY else None
        yield run, round_.changed or command in failed
        if command is not None and not run["succeeded"]:
            failed.add(command)


def symptom(run: Run) -> tuple[Any, ...]:
    """The failure of a run for comparison, without line numbers, which change when lines are
    inserted. If the class is unknown, the cause has little information, so the command belongs to
    the symptom."""
    failure: Mapping[str, Any] = run.get("failure") or {}
    cause = _PLACE.sub("", failure.get("cause", ""))
    unknown = failure.get("class") == FailureClass.UNKNOWN
    command = text_in(run, "code") if unknown else None
    return failure.get("class"), failure.get("exception"), cause, command


def _stop_reason(run: Run, same: int, streak: int) -> str | None:
    if same > MOST_UNCHANGED:
        return f"the repairs do not change the failure: {(run.get('failure') or {}).get('cause')}"
    if streak > LAST_PATIENCE:
        return f"{streak - 1} repairs in a row have failed"
    return None
