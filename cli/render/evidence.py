"""Runs, acceptance checks and verifications as parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.http.foreign_text import first_line, visible_path
from api.quantities import duration, plural, size
from cli.render.parts import Code, Line, Output, Part, Prose, Tone
from cli.render.texts import clip, printable

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a job is shown."""

    code_lines: int | None = 24
    """The most lines of code; None: all."""
    output_lines: int | None = 16
    """The most lines of each output; None: all."""
    is_full: bool = False
    """Whether to show complete answers, diffs and questions, as in a transcript."""


FULL_DETAIL = Detail(code_lines=None, output_lines=None, is_full=True)
EventParts = Callable[[Data, Detail], Iterator[Part]]
"""Shows the data of an event."""


def run_parts(run: Data, detail: Detail) -> Iterator[Part]:
    """A run: how it ended, its code, its output, its files."""
    good = bool(run["succeeded"])
    by = "" if run["by"] in (None, "", "executor") else f", by {run['by']}"
    step = f"step {run['step']}: " if run.get("step") else ""
    text = f"{step}{_run_kind(run)}{_ending(run)} in {duration(run['seconds'])}{by}"
    yield Line(f"run {run['number']}", text, Tone.GOOD if good else Tone.BAD)
    if failure := run.get("failure"):
        yield _failure_line(run, failure)
    if code := stored_text(run["code"]):
        language = "python" if run.get("tool", "python") == "python" else "bash"
        yield Code(clip(code, detail.code_lines), language)
    if output := stored_text(run["stdout"]):
        yield Output(clip(output, detail.output_lines))
    if output := stored_text(run["stderr"]):
        yield Output(clip(output, detail.output_lines), error=True)
    for artifact in run["artifacts"]:
        yield from artifact_parts("file", artifact, Tone.QUIET)
    for refused in run["refused"]:
        yield Line("left out", printable(refused), Tone.WARN)


def _run_kind(run: Data) -> str:
    """The tool, unless it is `python`, and the numbers of test results: `shell, 3 passed, `."""
    tool = run.get("tool", "python")
    counts = (run.get("tests") or {}).get("counts", {})
    counted = [f"{count} {printable(name).replace('_', ' ')}" for name, count in counts.items()]
    return ", ".join(([] if tool == "python" else [printable(tool)]) + counted + [""])


def _failure_line(run: Data, failure: Data) -> Line:
    """The class and the cause; of tests that failed for an unknown reason, their number."""
    counts = (run.get("tests") or {}).get("counts", {})
    bad = counts.get("failed", 0) + counts.get("error", 0)
    if failure["class"] == "unknown" and bad:
        return Line("tests failed", f"{bad} of {sum(counts.values())}", Tone.BAD)
    return Line(failure_label(failure), printable(failure["cause"]), Tone.BAD)


def failure_label(failure: Data) -> str:
    """The class of a failure in words: `zero division`."""
    return "failed" if failure["class"] == "unknown" else str(failure["class"]).replace("_", " ")


def artifact_parts(label: str, artifact: Data, tone: Tone = Tone.PLAIN) -> Iterator[Part]:
    """A file with its type and size; of a chart, the description of the picture, too."""
    yield Line(label, artifact_text(artifact), tone)
    if description := artifact.get("description"):
        yield Prose(printable(description))


def artifact_text(artifact: Data) -> str:
    """`plot.png (image/png, 34.1 KiB)`."""
    name = visible_path(artifact["name"])
    return f"{name} ({artifact['media_type']}, {size(artifact['size'])})"


def _ending(run: Data) -> str:
    match run["end"]:
        case "exited":
            return f"exit {run['exit_code']}"
        case "signaled":
            return f"killed by signal {run['signal']}"
        case "killed":
            return "killed"
        case limit:
            return f"stopped at the {limit} limit"


def stored_text(output: Mapping[str, Any]) -> str:
    """A stored text, and the number of characters that were not stored."""
    text = printable(output["text"])
    if output["dropped_bytes"]:
        text += f"\n... {size(output['dropped_bytes'])} not kept"
    return text if text.strip() else ""


def merged_parts(data: Data, _detail: object) -> Iterator[Part]:
    """The merged files of the branches: their number, and the conflicts."""
    steps = ", ".join(str(step) for step in data["steps"])
    yield Line("merged", f"{plural(len(data['files']), 'file')} of steps {steps}")
    for path in data.get("combined", ()):
        yield Line("merged", printable(f"{visible_path(path)} has the lines of several steps"))
    for conflict in data["conflicts"]:
        copies = ", ".join(map(visible_path, conflict["copies"]))
        copies_text = f"; {copies} next to it" if copies else ""
        yield Line(
            "conflict",
            printable(f"{visible_path(conflict['path'])}: {conflict['what']}{copies_text}"),
            Tone.WARN,
        )
    for file in data["left_out"]:
        yield Line("left out", printable(f"step {file['step']}: {file['why']}"), Tone.WARN)


def of_step(step: int, drawn: Iterable[Part]) -> Iterator[Part]:
    """The parts, with the number of the branch's step, because events of branches are mixed."""
    first = True
    for part in drawn:
        if first and isinstance(part, Line):
            yield replace(part, text=f"step {step}: {part.text}")
        else:
            yield part
        first = False


FAILING_SHOWN = 8
DETAIL_LINES = 8


def check_parts(data: Data, _detail: object = None) -> Iterator[Part]:
    """The number of passed checks, and the names and reasons of the checks that did not pass."""
    tests = data["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    skipped = sum(test["outcome"] == "skipped" for test in tests)
    failing = [test for test in tests if test["outcome"] not in {"passed", "skipped"}]
    took = duration(data["seconds"])
    good = Tone.GOOD if data["passed"] else Tone.BAD
    by_exit_code = data.get("judged_by") == "exit_code"
    if by_exit_code and len(tests) < 2 and not data["passed"]:
        yield Line("checks", f"not passed, by exit code alone, in {took}", Tone.BAD)
    elif by_exit_code and len(tests) < 2:
        command = printable(tests[0]["id"])
        yield Line("checks", f"passed by exit code alone in {took}: {command}", Tone.WARN)
    else:
        more = f", {skipped} skipped" if skipped else ""
        yield Line("checks", f"{passed} of {len(tests)} passed{more} in {took}", good)
        if by_exit_code:
            yield Line("", f"by its exit code alone: {printable(tests[0]['id'])}", Tone.WARN)
    if data["problem"]:
        yield Line("", printable(data["problem"]), Tone.BAD)
    for test in failing[:FAILING_SHOWN]:
        yield Line(test["outcome"], printable(test["id"]), Tone.BAD)
        if detail := printable(test["detail"]).strip():
            yield Output(clip(detail, DETAIL_LINES), error=True)
    if len(failing) > FAILING_SHOWN:
        yield Line("", f"and {plural(len(failing) - FAILING_SHOWN, 'more')}", Tone.BAD)


def written_test_parts(data: Data, _detail: object = None) -> Iterator[Part]:
    """The number of tests that the tester has written, and the tests that were dropped."""
    yield Line("tests", f"{plural(len(data['tests']), 'test')} written for the job")
    for name in data["tests"]:
        yield Line("", printable(name), Tone.QUIET)
    for dropped in data["dropped"]:
        yield Line(
            "left out", f"{printable(dropped['id'])}: {printable(dropped['why'])}", Tone.QUIET
        )
    if data["note"]:
        yield Line("note", printable(data["note"]), Tone.WARN)


def questions_parts(questions: Sequence[Data]) -> Iterator[Part]:
    """The questions of the planner, and the defaults that apply without an answer."""
    for number, question in enumerate(questions, 1):
        yield Line(f"question {number}", "")
        yield Prose(printable(question["question"]))
        yield Line("else", printable(question["default"]), Tone.QUIET)


_LEVEL_TONES: Mapping[str, Tone] = {
    "red": Tone.BAD,
    "grey": Tone.WARN,
    "amber": Tone.WARN,
    "green": Tone.GOOD,
}


def evidence_parts(verdict: Data) -> Iterator[Part]:
    """The verdict on a review: its level and its reason, then its facts."""
    tone = _LEVEL_TONES.get(verdict["level"], Tone.PLAIN)
    yield Line("evidence", f"{verdict['level']}: {printable(verdict['reason'])}", tone)
    for fact in verdict["facts"]:
        yield Line("", printable(fact), Tone.QUIET)


OUTPUT_LINES = 12
LINES_SHOWN = 5
"""The unnoticed changes that are named while a job runs. Afterwards all are named."""
OWN_WORD = "only the program itself verifies it: its exit code is the program's own word"
SOURCES: Mapping[str, str] = {
    "job": "the job's command",
    "model": "the model's command",
    "default": "the default command",
    "program": "the program itself",
    "answer": "without a run",
}


def verification_parts(
    data: Data, detail: Detail = FULL_DETAIL, checks: Data | None = None
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
        yield from _strength_parts(strength, None if detail.is_full else LINES_SHOWN)
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
    untried_text = f"; {untried} not tried, for time" if untried else ""
    figure = f"{noticed} of {plural(tried, 'small change')} of the code noticed"
    yield Line("strength", figure + untried_text, tone)
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
