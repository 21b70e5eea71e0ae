"""The revision policy: whether a job that was sent back is revised, and by which model. Pure.

the revisions are used up                           it ends
another one would bring nothing: two in a row       a stronger model takes over; without one it
came to the same, or went in circles, or neither    ends, although revisions are left
the critic's score nor the number of checks that
pass is better than two revisions ago
two revisions to fix it were sent back at one      a stronger model takes over
model
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.graph.state import Run

PATIENCE = 2
"""Revisions that may fail at one model, and scores in a row that may be no better."""
DELTA = 0.02
"""How much better a score must be to count."""

State = Mapping[str, Any]
Critiques = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Next:
    """`exhausted`: the job ends unapproved; `ends` says why where revisions are left. `level` is
    that of the model which goes on else."""

    exhausted: bool
    level: int
    ends: str | None = None


def after_critique(state: State, critiques: Critiques, levels: int) -> Next:
    """What follows the last of `critiques`, which sends the work back. `levels`: of the executor's
    chain."""
    level = state.get("level", 0)
    if len(critiques) >= state["job"]["max_revisions"]:
        return Next(exhausted=True, level=level)
    why = no_progress(state, critiques)
    stronger = level + 1 < levels
    if stronger and (why is not None or has_used_its_repairs(state, critiques)):
        return Next(exhausted=False, level=level + 1)
    return Next(exhausted=why is not None, level=level, ends=why)


def no_progress(state: State, critiques: Critiques) -> str | None:
    """Why another revision by the same model would bring nothing, or None."""
    if _same_twice(state, critiques):
        return "two revisions in a row came to the same"
    if _stopped(state, state["revision"]) and _stopped(state, state["revision"] - 1):
        return "two revisions in a row went in circles"
    recent = critiques[-PATIENCE - 1 :]
    better = {
        "no more of the checks pass": _better(
            [(each.get("checks") or {}).get("passed") for each in recent], 1
        ),
        "the critic's score is no better": _better([each.get("score") for each in recent], DELTA),
    }
    stalled = [text for text, is_better in better.items() if is_better is False]
    if not stalled or any(better.values()):
        return None
    return f"{' and '.join(stalled)} than {PATIENCE} revisions ago"


def _better(figures: Sequence[float | None], delta: float) -> bool | None:
    """Whether one of the last PATIENCE figures is better than the one before them by `delta`; None
    where there are too few to say."""
    known = [figure for figure in figures if figure is not None]
    return max(known[1:]) >= known[0] + delta if len(known) > PATIENCE else None


def has_used_its_repairs(state: State, critiques: Critiques) -> bool:
    """Whether the model at work has had its repairs: revisions of its own that were sent back, but
    for the job's first, which fixed nothing."""
    level = state.get("level", 0)
    made_by = {each["revision"]: each.get("level", 0) for each in state.get("answers", [])}
    tried = {
        critique["revision"]
        for critique in critiques
        if critique["revision"] > 1 and made_by.get(critique["revision"]) == level
    }
    return len(tried) >= PATIENCE


def _same_twice(state: State, critiques: Critiques) -> bool:
    """The files and what the runs have shown are as they were; and so is the answer, or what the
    critic has against it."""
    answers = state.get("answers", [])
    if len(answers) < 2 or any("workspace" not in answer for answer in answers[-2:]):
        return False
    before, now = answers[-2], answers[-1]
    if now["revision"] != state["revision"] or before["workspace"] != now["workspace"]:
        return False
    shown = [_shown(state, answer["revision"]) for answer in (before, now)]
    if shown[1] and shown[0] != shown[1]:
        return False
    complaints = [critique["feedback"] for critique in critiques[-2:]]
    return before["text"] == now["text"] or (len(complaints) == 2 and len(set(complaints)) == 1)


def _shown(state: State, revision: int) -> list[tuple[Any, ...]]:
    """What the runs of a revision have shown, but for the time they took."""
    return [_of(run) for run in state.get("runs", []) if run["revision"] == revision]


def _of(run: Run) -> tuple[Any, ...]:
    texts = [(run[name]["text"], run[name]["digest"]) for name in ("code", "stdout", "stderr")]
    return run["end"], run["exit_code"], *texts


def _stopped(state: State, revision: int) -> bool:
    """Whether the pass of a revision was ended for going in circles, with no other model left."""
    answers = state.get("answers", [])
    return any(each["revision"] == revision and each.get("stopped") for each in answers)
