"""Acceptance checks and questions as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from api.quantities import duration, plural
from cli.render.parts import Line, Output, Part, Prose, Tone
from cli.render.words import clip, printable

Data = Mapping[str, Any]

FAILING_SHOWN = 8
DETAIL_LINES = 8


def checked_parts(data: Data, _detail: object = None) -> Iterator[Part]:
    """How many have passed; of those that have not, which, and why."""
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


def written_parts(data: Data, _detail: object = None) -> Iterator[Part]:
    """The tests that the tester has written, and those that were thrown out."""
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
    """What the planner asks, and what it goes on with where nobody answers."""
    for number, each in enumerate(questions, 1):
        yield Line(f"question {number}", "")
        yield Prose(printable(each["question"]))
        yield Line("else", printable(each["default"]), Tone.QUIET)
