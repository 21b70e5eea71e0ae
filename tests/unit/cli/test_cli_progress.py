"""Events are rendered as parts, and parts as plain lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.jobs.event_examples import EXAMPLES

from cli.render.events import SHOWN, parts
from cli.render.evidence import FULL_DETAIL, Detail, verification_parts
from cli.render.part_formats import plain_lines
from cli.render.parts import Code
from fettle.events import ReceivedEvent

RUN = {
    "id": "r1",
    "number": 1,
    "revision": 1,
    "by": "executor",
    "code": {"text": "print(6 * 7)\n", "dropped_bytes": 0, "digest": None},
    "end": "exited",
    "exit_code": 0,
    "signal": None,
    "stdout": {"text": "42\n", "dropped_bytes": 0, "digest": None},
    "stderr": {"text": "", "dropped_bytes": 0, "digest": None},
    "seconds": 0.314,
    "succeeded": True,
    "artifacts": [{"name": "plot.png", "digest": "d", "size": 34_900, "media_type": "image/png"}],
    "refused": [],
}


def event(kind: str, **data) -> ReceivedEvent:
    return ReceivedEvent(1, datetime(2026, 11, 21, tzinfo=UTC), kind, data)


def rendered_lines(kind: str, detail: Detail | None = None, **data) -> list[str]:
    drawn = parts(event(kind, **data), detail or Detail())
    return [line for part in drawn for line in plain_lines(part)]


def test_a_run_shows_its_end_its_code_its_output_and_its_files():
    assert rendered_lines("run_finished", **RUN) == [
        "run 1: exit 0 in 0.31 s",
        "    print(6 * 7)",
        "    > 42",
        "file: plot.png (image/png, 34.1 KiB)",
    ]


def test_a_chart_is_described_in_words():
    chart = {**RUN["artifacts"][0], "description": "x from 0 to 9,\x1b 10 points"}
    assert rendered_lines("run_finished", **{**RUN, "artifacts": [chart]})[-2:] == [
        "file: plot.png (image/png, 34.1 KiB)",
        "    x from 0 to 9,\\x1b 10 points",
    ]


@pytest.mark.parametrize(
    ("end", "text"),
    [("timeout", "stopped at the timeout limit"), ("memory", "stopped at the memory limit"),
     ("killed", "killed"), ("signaled", "killed by signal 11")],
)  # fmt: skip
def test_an_exceeded_limit_is_named(end, text):
    run = {**RUN, "end": end, "exit_code": None, "signal": 11, "succeeded": False}
    assert rendered_lines("run_finished", **run)[0] == f"run 1: {text} in 0.31 s"


def test_long_code_is_shortened_in_the_middle_with_the_number_of_lines():
    code = {"text": "\n".join(f"line {n}" for n in range(100)), "dropped_bytes": 0, "digest": "d"}
    drawn = parts(event("run_finished", **{**RUN, "code": code}), Detail(code_lines=4))
    assert Code("line 0\nline 1\n... 96 more lines ...\nline 98\nline 99") in drawn


def test_control_characters_of_a_program_never_reach_the_terminal():
    stdout = {"text": "\x1b[2Jgone\x07 \u202eedoc", "dropped_bytes": 0, "digest": None}
    lines = rendered_lines("run_finished", **{**RUN, "stdout": stdout})
    assert "    > \\x1b[2Jgone\\x07 \\u202eedoc" in lines


VERIFICATION_LINES = [
    "not verified: pytest -q (the model's command), in run 2; exit code only",
    "it does not use a.py",
    "own word: only the program itself verifies it: its exit code is the program's own word",
    "sanity check: with a.py, b.py made unloadable, the verification still passes",
    "    > 1 passed",
    "sanity check: without the change, the verification fails, as it should",
    "sanity check: with c.py made unloadable, undecided: it was stopped (timeout)",
    "strength: 7 of 8 small changes of the code noticed; 12 not tried, for time",
    "not noticed: a.py:12: if n <= 3:   instead of   if n < 3:",
    "functions: 1 of 2 changed functions executed",
    "note: The verification does not exercise b.py.",
]


def test_a_verification_shows_how_much_it_distinguishes():
    assert rendered_lines("verified", **EXAMPLES["verified"]) == VERIFICATION_LINES


def test_a_running_job_names_some_unnoticed_changes_and_the_transcript_all():
    mutation = EXAMPLES["verified"]["strength"]["unnoticed"][0]
    strength = {"noticed": 0, "tried": 7, "unnoticed": [mutation] * 7}
    verified = {**EXAMPLES["verified"], "strength": strength}
    in_short, in_full = (
        rendered_lines("verified", **verified),
        rendered_lines("verified", FULL_DETAIL, **verified),
    )
    assert sum("not noticed" in line for line in in_short) == 5
    assert "and 2 more" in in_short
    assert sum("not noticed" in line for line in in_full) == 7


def test_the_output_of_an_experiment_is_left_out_if_the_verification_holds():
    lines_shown = rendered_lines(
        "verified", **{**EXAMPLES["verified"], "holds": True, "problem": None}
    )
    assert lines_shown[1:] == [line for line in VERIFICATION_LINES[2:] if line != "    > 1 passed"]


def test_a_verification_of_an_older_release_has_no_figures():
    figures = {"strength", "functions", "notes", "own_word", "judged_by"}
    old = {name: part for name, part in EXAMPLES["verified"].items() if name not in figures}
    experiments = [old["experiments"][0]]
    lines_shown = rendered_lines("verified", **{**old, "experiments": experiments})
    head = "not verified: pytest -q (the model's command), in run 2"
    assert lines_shown == [head, *VERIFICATION_LINES[1:2], *VERIFICATION_LINES[3:5]]


def test_a_verification_by_the_checks_counts_them():
    experiment = {**EXAMPLES["verified"]["experiments"][1], "kind": "unloadable"}
    by_checks = {**EXAMPLES["verified"], "source": "checks", "holds": True, "problem": None}
    by_checks |= {"own_word": False, "judged_by": "report", "experiments": [experiment]}
    by_checks |= {"strength": None, "functions": None, "notes": []}
    checks = {"tests": [{"id": "a", "outcome": "passed"}, {"id": "b", "outcome": "skipped"}]}
    drawn = [
        line for part in verification_parts(by_checks, checks=checks) for line in plain_lines(part)
    ]
    assert drawn == [
        "verified: 1 of 2 acceptance checks passed",
        "sanity check: with a.py, b.py made unloadable, the checks fail, as they should",
    ]


@pytest.mark.parametrize(
    ("failure", "counts", "line"),
    [
        ("unknown", {"failed": 1, "passed": 2}, "tests failed: 1 of 3"),
        ("unknown", {}, "failed: by 0"),
        ("zero_division", {"failed": 1}, "zero division: by 0"),
    ],
)
def test_a_failure_is_named_in_words(failure, counts, line):
    failure_fields = {"class": failure, "cause": "by 0", "exception": None}
    run = {
        **RUN,
        "succeeded": False,
        "failure": failure_fields,
        "tests": {"counts": counts, "tests": []},
    }
    assert rendered_lines("run_finished", **run)[1] == line


def test_an_event_of_an_unknown_kind_is_not_shown():
    assert rendered_lines("levitated", height=3) == []


@pytest.mark.parametrize("kind", sorted(SHOWN))
def test_every_kind_of_event_can_be_shown(kind):
    at = datetime(2026, 11, 21, tzinfo=UTC)
    assert all(
        list(plain_lines(part))
        for part in parts(ReceivedEvent(1, at, kind, EXAMPLES[kind]), Detail())
    )
