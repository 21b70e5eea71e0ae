"""The sentences about a verification that the critic reads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.evidence.conclusions import PASSES_BEFORE
from agents.paths import visible
from agents.texts import listed, one_line

_ERROR = re.compile(r"(?:E\s+)?[\w.]*(?:Error|Exception)\b")
NAMES_SHOWN = 20
LINE_SHOWN = 160


def verification_lines(verification: Mapping[str, Any]) -> list[str]:
    """One sentence for each experiment and for each figure. Records of older releases lack the
    figures. The notes on a verification that holds describe the experiments that weaken it."""
    notes = verification.get("notes", ())
    noted = bool(verification.get("holds") and notes)
    experiments = verification.get("experiments", ())
    lines = [
        _experiment_line(experiment)
        for experiment in experiments
        if not (noted and _is_noted(experiment, notes))
    ]
    lines += _strength_lines(verification.get("strength"))
    lines += _function_lines(verification.get("functions"), noted=noted)
    if verification.get("own_word"):
        lines.append(
            "Only the program itself verifies it: its exit code is the program's own word."
        )
    if verification.get("judged_by") == "exit_code":
        lines.append("Only its exit code decides: no report of single tests exists.")
    return [*lines, *notes]


def _is_noted(tried: Mapping[str, Any], notes: Sequence[str]) -> bool:
    """Whether a note describes the experiment. A job that is to change no behaviour has no note on
    the state before."""
    if tried.get("undecided"):
        return True
    return tried["still_green"] and (tried.get("kind") != "before" or PASSES_BEFORE in notes)


def _experiment_line(tried: Mapping[str, Any]) -> str:
    before = tried.get("kind") == "before"
    state = "as before the job" if before else "unable to load"
    start = f"With {_names(tried['replaced'])} {state}, "
    if tried.get("undecided"):
        return f"{start}a limit ended it ({tried['end']}), so it shows nothing."
    if tried["still_green"]:
        return f"{start}it still passes."
    reason = _reason(tried["stderr"]["text"]) or _reason(tried["stdout"]["text"])
    return f"{start}it fails, as it should{f': {reason}' if reason else '.'}"


def _strength_lines(strength: Mapping[str, Any] | None) -> Iterator[str]:
    if strength is None:
        return
    note = f"; {untried} were not tried, for time" if (untried := strength.get("untried")) else ""
    figure = f"{strength['noticed']} of {strength['tried']}"
    yield f"It notices {figure} small changes of the code{note}."
    for mutation in strength["unnoticed"]:
        before, after = (one_line(mutation[name], LINE_SHOWN) for name in ("before", "after"))
        location = f"{visible(mutation['path'])}:{mutation['line']}"
        yield f"It does not notice `{after}` instead of `{before}` in {location}."


def _function_lines(functions: Mapping[str, Sequence[str]] | None, *, noted: bool) -> Iterator[str]:
    if functions is None:
        return
    executed, not_executed = functions["executed"], functions["not_executed"]
    total = len(executed) + len(not_executed)
    if total == 0:
        return
    missing = f"; not {_names(not_executed)}" if not_executed and not noted else ""
    yield f"It executes {len(executed)} of the {total} functions that the job changed{missing}."


def _names(names: Sequence[str]) -> str:
    return listed([*map(visible, names)], NAMES_SHOWN)


def _reason(output: str) -> str:
    """The line of an output that names an exception, or else the last line. The last lines of
    pytest have times, which differ in each run."""
    lines = [line.strip() for line in output.split("\n")]
    lines = [line for line in lines if line and not line.startswith("===")]
    errors = (line for line in reversed(lines) if _ERROR.match(line))
    return one_line(next(errors, lines[-1] if lines else "").removeprefix("E "), LINE_SHOWN)
