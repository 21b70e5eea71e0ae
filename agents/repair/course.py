"""Course: how the repairs of a job go, and so who makes the next one, or that there is none. Pure.

two repairs in a row fail at one model   -> the next model of the chain takes over
a repair leaves the failure as it was    -> at once: another try of the same model is a waste
no model is left, and three in a row     -> the pass ends, with what there is
changed nothing, or six have failed
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.repair.repair import failed_in_a_row
from agents.state import Repair

PATIENCE = 2
"""Failed repairs in a row before the next model takes over."""
STANDING = 3
"""Repairs in a row of the last model that leave the failure as it was, before a pass ends; one that
changes nothing at all counts twice."""
LAST_PATIENCE = 6
"""Failed repairs in a row of the last model before a pass ends, whatever they change."""


@dataclass(frozen=True, slots=True)
class Course:
    """`level` is the rung of the chain whose model is asked next; `stopped` says why the pass is to
    end, or is None.
    """

    level: int
    stopped: str | None = None


def course(repairs: Sequence[Repair], level: int, levels: int, revision: int) -> Course:
    """The course behind all `repairs` of the job, oldest first. `level` is where the job stood
    before the pass of `revision`; `levels` is how many the chain has. Repairs that bear a `step`
    are those of branches which have ended.
    """
    now = max([level, *(repair["level"] for repair in repairs)])
    streak = failed_in_a_row(repairs)
    here = [repair for repair in streak if repair["level"] == now]
    top = now >= levels - 1
    if not top and (_failures(here) >= PATIENCE or (here and here[-1]["same"])):
        return Course(now + 1)
    if not top:
        return Course(now)
    of_pass = [r for r in here if r["revision"] == revision and "step" not in r]
    return Course(now, _stopped(of_pass))


def _stopped(here: Sequence[Repair]) -> str | None:
    """Why the last model is not to go on with this pass; a new pass begins with new feedback."""
    standing = 0
    for repair in reversed(here):
        if repair["same"] is None:
            break
        standing += 2 if repair["same"] == "code" else 1
    if standing >= STANDING:
        return f"the repairs leave the failure as it is: {here[-1]['cause']}"
    if _failures(here) >= LAST_PATIENCE:
        return f"{_failures(here)} repairs in a row have failed"
    return None


def _failures(repairs: Sequence[Repair]) -> int:
    """How many failures they were to mend: several runs of one reply are one repair."""
    return len({repair["of"] for repair in repairs})
