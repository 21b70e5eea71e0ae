"""Repair: a run of what was changed after a run that failed. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agents.state import Repair, Run

_PLACE = re.compile(r", line \d+(?=[:)])")

Same = Literal["code", "failure"]


def repaired_run(runs: Sequence[Run], group: Sequence[Run]) -> Run | None:
    """The failed run that whoever has seen these runs will repair, or None.

    `group` are the runs of the latest reply that made any: what its later calls ran was written
    without knowing how the earlier ones end.
    """
    latest = group or runs[-1:]
    return next((run for run in reversed(latest) if not run["succeeded"]), None)


def repair_of(run: Run, failed: Run, earlier: Sequence[Repair], model: str, level: int) -> Repair:
    """The record of `run` as a repair of `failed`, behind the job's `earlier` repairs."""
    failure = failed.get("failure") or {}
    attempts = failed_in_a_row(earlier)
    return {
        "run": run["id"],
        "of": failed["id"],
        "revision": run["revision"],
        "class": failure.get("class", "unknown"),
        "cause": failure.get("cause", ""),
        "model": model,
        "level": level,
        "attempt": len({repair["of"] for repair in attempts} - {failed["id"]}) + 1,
        "fixed": bool(run["succeeded"]),
        "same": None if run["succeeded"] else _same(run, failed),
    }


def failed_in_a_row(repairs: Sequence[Repair]) -> Sequence[Repair]:
    """The repairs since one last worked, oldest first."""
    cures = [place for place, repair in enumerate(repairs, start=1) if repair["fixed"]]
    return repairs[cures[-1] :] if cures else repairs


def _same(run: Run, failed: Run) -> Same | None:
    """What the repair left as it was: all of the code, or the failure alone."""
    untouched = "on" in run and run["on"] == failed.get("workspace")
    if untouched and _program(run) == _program(failed):
        return "code"
    return "failure" if _symptom(run) == _symptom(failed) else None


def _program(run: Run) -> tuple[Any, ...]:
    return run.get("tool"), run["code"]["text"], run["code"]["digest"]


def _symptom(run: Run) -> tuple[Any, ...]:
    """How a run failed, wherever in the file: lines move when others are written before them."""
    failure: Mapping[str, Any] = run.get("failure") or {}
    cause = _PLACE.sub("", failure.get("cause", ""))
    return failure.get("class"), failure.get("exception"), cause
