"""Repair: a run that was to mend an open failure. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.repair.cure import Between, again, cures, tries
from agents.repair.opened import doubtful
from agents.state import Repair, Run

_PLACE = re.compile(r", line \d+(?=[:)])")

Same = Literal["code", "failure"]


@dataclass(frozen=True, slots=True)
class Mending:
    """What a run has to do with the failures that were open: `of` is the one that it was to mend;
    `closed` are the ids of those that it has cured, or stands for now, where it failed itself."""

    of: Run
    closed: tuple[str, ...] = ()


def mending(run: Run, opened: Sequence[tuple[Run, Between]]) -> Mending | None:
    """What a `run` mends of the open failures, oldest first; None where it only looked, or is about
    something else."""
    closed = [failed for failed, between in opened if _is_over(failed, run, between)]
    if closed:
        same = (failed for failed in reversed(closed) if again(failed, run))
        return Mending(next(same, closed[-1]), tuple(failed["id"] for failed in closed))
    if run["succeeded"]:
        return None
    tried = (failed for failed, between in reversed(opened) if tries(failed, run, between))
    of = next(tried, None)
    return None if of is None else Mending(of)


def _is_over(failed: Run, run: Run, between: Between) -> bool:
    return doubtful(failed) or cures(failed, run, between)


def repair_of(
    run: Run, mends: Mending, earlier: Sequence[Repair], model: str, level: int
) -> Repair:
    """The record of `run` as a repair, behind the job's `earlier` repairs."""
    failed = mends.of
    failure = failed.get("failure") or {}
    this: Repair = {"run": run["id"], "of": failed["id"], "fixed": False}
    attempts = failed_in_a_row([*earlier, this])
    return {
        "run": run["id"],
        "of": failed["id"],
        "revision": run["revision"],
        "class": failure.get("class", "unknown"),
        "cause": failure.get("cause", ""),
        "model": model,
        "level": level,
        "attempt": len({repair["of"] for repair in attempts}),
        "fixed": bool(run["succeeded"]),
        "closed": list(mends.closed),
        "same": None if run["succeeded"] else _same(run, failed),
    }


def failed_in_a_row(repairs: Sequence[Repair]) -> Sequence[Repair]:
    """The repairs of what is open since one last worked, oldest first. One that worked on something
    else in between (a typo in a program that was to look) is left out with all that it took."""
    streak: list[Repair] = []
    mended: set[str] = set()
    for repair in reversed(repairs):
        if repair["fixed"]:
            at = _number(repair["run"])
            if all(_number(each["of"]) > at for each in streak):
                break
            mended |= {repair["of"], *repair.get("closed", ())}
        elif repair["run"] in mended:
            mended.add(repair["of"])
        else:
            streak.insert(0, repair)
    return streak


def _number(run: str) -> int:
    return int(run.removeprefix("r"))


def _same(run: Run, failed: Run) -> Same | None:
    """What the repair left as it was: all of the code, or the failure alone."""
    untouched = "on" in run and run["on"] == failed.get("workspace")
    if untouched and again(failed, run):
        return "code"
    return "failure" if _symptom(run) == _symptom(failed) else None


def _symptom(run: Run) -> tuple[Any, ...]:
    """How a run failed, wherever in the file: lines move when others are written before them."""
    failure: Mapping[str, Any] = run.get("failure") or {}
    cause = _PLACE.sub("", failure.get("cause", ""))
    return failure.get("class"), failure.get("exception"), cause
