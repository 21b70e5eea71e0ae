"""A verification as parts: the command, whether it is evidence, and how much it distinguishes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from api.http.foreign_text import first_line, visible_path
from api.quantities import plural
from cli.render.parts import Line, Output, Part, Tone
from cli.render.runs import WHOLE, Detail
from cli.render.words import clip, printable

Data = Mapping[str, Any]

OUTPUT_LINES = 12
LINES_SHOWN = 5
"""Unnoticed changes that are named while a job runs; afterwards all are."""
OWN_WORD = "only the program itself verifies it: its exit code is the program's own word"
SOURCES: Mapping[str, str] = {
    "job": "the job's command",
    "model": "the model's command",
    "default": "the default command",
    "program": "the program itself",
    "answer": "without a run",
}


def verified_parts(
    data: Data, detail: Detail = WHOLE, checks: Data | None = None
) -> Iterator[Part]:
    """The command and its outcome, the problem, each experiment, the figures and the notes.
    `checks`: the report of the acceptance checks, if the verification is by these."""
    own_word = data.get("own_word", False)
    tone = Tone.GOOD if data["holds"] and not own_word else Tone.WARN
    label = "verified" if data["holds"] else "not verified"
    yield Line(label, _summary(data, checks), tone)
    if data["problem"]:
        yield Line("", printable(data["problem"]), Tone.WARN)
    if own_word:
        yield Line("own word", OWN_WORD, Tone.WARN)
    for experiment in data["experiments"]:
        yield from _experiment_parts(experiment, data)
    if (strength := data.get("strength")) is not None:
        yield from _strength_parts(strength, None if detail.whole else LINES_SHOWN)
    if functions := data.get("functions"):
        yield from _functions_parts(functions)
    for note in data.get("notes", ()):
        yield Line("note", printable(note), Tone.WARN)


def _summary(data: Data, checks: Data | None) -> str:
    """`pytest -q (the model's command), in run 5; exit code only`."""
    alone = "; exit code only" if data.get("judged_by") == "exit_code" else ""
    if data["source"] == "checks":
        return _checks_text(data, checks) + alone
    if data["command"] is None:
        return "nothing was run"
    source = SOURCES.get(data["source"] or "", "")
    run = f", in run {data['run'].removeprefix('r')}" if data["run"] else ""
    command = first_line(printable(data["command"]))
    return f"{command}{f' ({source})' if source else ''}{run}{alone}"


def _checks_text(data: Data, checks: Data | None) -> str:
    """`3 of 3 acceptance checks passed`."""
    if checks is None:
        return "the acceptance checks passed" if data["holds"] else "the acceptance checks"
    passed = sum(test["outcome"] == "passed" for test in checks["tests"])
    return f"{passed} of {len(checks['tests'])} acceptance checks passed"


def experiment_text(experiment: Data, *, of_checks: bool = False) -> str:
    """`with calc.py made unloadable, the verification fails, as it should`."""
    files = ", ".join(map(visible_path, experiment["replaced"]))
    is_before = experiment.get("kind") == "before"
    start = "without the change" if is_before else f"with {files} made unloadable"
    if experiment.get("undecided"):
        return f"{start}, undecided: it was stopped ({experiment['end']})"
    if experiment["still_green"]:
        passes = "the checks still pass" if of_checks else "the verification still passes"
        return f"{start}, {passes}"
    fails = "checks fail, as they should" if of_checks else "verification fails, as it should"
    return f"{start}, the {fails}"


def _experiment_parts(experiment: Data, verified: Data) -> Iterator[Part]:
    """If the verification holds, its notes have the warnings. Otherwise, the output of a run that
    passes is shown, because nobody expects it to pass."""
    is_warning = experiment["still_green"] and not verified["holds"]
    text = experiment_text(experiment, of_checks=verified["source"] == "checks")
    yield Line("sanity check", text, Tone.WARN if is_warning else Tone.QUIET)
    if not is_warning:
        return
    for part in ("stdout", "stderr"):
        if text := printable(experiment[part]["text"]).strip():
            yield Output(clip(text, OUTPUT_LINES), error=part == "stderr")


def _strength_parts(strength: Data, most: int | None) -> Iterator[Part]:
    noticed, tried, untried = strength["noticed"], strength["tried"], strength.get("untried")
    tone = Tone.QUIET if noticed == tried and not untried else Tone.WARN
    rest = f"; {untried} not tried, for time" if untried else ""
    figure = f"{noticed} of {plural(tried, 'small change')} of the code noticed"
    yield Line("strength", figure + rest, tone)
    unnoticed = strength["unnoticed"]
    for mutation in unnoticed[:most]:
        line = f"{visible_path(mutation['path'])}:{mutation['line']}"
        after = first_line(printable(mutation["after"].strip())) or "(the line removed)"
        before = first_line(printable(mutation["before"].strip()))
        yield Line("not noticed", f"{line}: {after}   instead of   {before}", Tone.WARN)
    if most is not None and len(unnoticed) > most:
        yield Line("", f"and {len(unnoticed) - most} more", Tone.WARN)


def _functions_parts(functions: Data) -> Iterator[Part]:
    """The numbers. The notes, or the problem, have the names of those that are not executed."""
    executed = len(functions["executed"])
    if total := executed + len(functions["not_executed"]):
        yield Line(
            "functions", f"{executed} of {plural(total, 'changed function')} executed", Tone.QUIET
        )
