"""Escalation: which model continues after failed runs of a pass, or that the pass ends. Pure.

A reply has failed if its last run has. Counted are failed replies in a row, and replies that fail
in the same way since the last verification that passed.

the same failure again, or three in a row             -> the next model of the chain takes over
no model is left: the same failure four times, or     -> the pass ends with what there is
seven in a row
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from agents.graph.state import Run
from agents.runs.program import VERIFY
from agents.tools.trace import runs_in, traces

PATIENCE = 2
"""Failed repairs in a row before the next model takes over."""
STANDING = 3
"""Repairs by the last model that leave the failure as it was, before a pass ends."""
LAST_PATIENCE = 6
"""Failed repairs in a row by the last model before a pass ends."""

_PLACE = re.compile(r", line \d+(?=[:)])")


@dataclass(frozen=True, slots=True)
class Escalation:
    """`level` is the position in the chain of the next model. `stopped` says why the pass has to
    end, or is None. `tried` are the failed runs of the models so far. `repair_failed`: the next
    model has just made a repair that failed."""

    level: int
    stopped: str | None = None
    tried: tuple[Run, ...] = ()
    repair_failed: bool = False


def escalation(rounds: Sequence[Run], level: int, levels: int) -> Escalation:
    """What follows from `rounds`, the last runs of the replies of a pass that began at `level`, out
    of `levels`."""
    top, streak = max(levels - 1, level), 0
    seen: Counter[tuple[Any, ...]] = Counter()
    tried: list[Run] = []
    stopped = None
    for run in rounds:
        if run["succeeded"]:
            streak, stopped = 0, None
            if run.get("tool") == VERIFY:
                seen.clear()
                tried.clear()
            continue
        streak += 1
        seen[symptom(run)] += 1
        tried.append(run)
        if level < top and (streak > PATIENCE or seen[symptom(run)] > 1):
            level, streak = level + 1, 0
            seen.clear()
        elif level == top:
            stopped = _stopped(run, seen[symptom(run)], streak)
    return Escalation(level, stopped, tuple(tried), repair_failed=streak > 1)


def rounds(messages: Sequence[AnyMessage]) -> list[Run]:
    """The last run of each reply in a pass, for replies that made one."""
    found: list[Run] = []
    reply: list[AnyMessage] = []
    for message in [*messages, None]:
        if message is None or isinstance(message, AIMessage):
            found += runs_in(traces(reply))[-1:]
            reply = []
        else:
            reply.append(message)
    return found


def symptom(run: Run) -> tuple[Any, ...]:
    """How a run failed, without line numbers: they change when lines are inserted."""
    failure: Mapping[str, Any] = run.get("failure") or {}
    cause = _PLACE.sub("", failure.get("cause", ""))
    return failure.get("class"), failure.get("exception"), cause


def _stopped(run: Run, same: int, streak: int) -> str | None:
    if same > STANDING:
        return f"the repairs do not change the failure: {(run.get('failure') or {}).get('cause')}"
    if streak > LAST_PATIENCE:
        return f"{streak - 1} repairs in a row have failed"
    return None
