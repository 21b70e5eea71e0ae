"""Events become parts, and parts plain lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cli.client.events import Event
from cli.render.events import parts
from cli.render.parts import Code
from cli.render.plain import lines
from cli.render.runs import Detail

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


def event(kind: str, **data) -> Event:
    return Event(1, datetime(2026, 11, 21, tzinfo=UTC), kind, data)


def shown(kind: str, detail: Detail | None = None, **data) -> list[str]:
    drawn = parts(event(kind, **data), detail or Detail())
    return [line for part in drawn for line in lines(part)]


def test_a_run_shows_its_end_its_code_its_output_and_its_files():
    assert shown("run_finished", **RUN) == [
        "run 1: exit 0 in 0.31 s",
        "    print(6 * 7)",
        "    > 42",
        "file: plot.png (image/png, 34.1 KiB)",
    ]


def test_what_a_branch_does_says_its_step():
    assert shown("run_finished", **RUN, step=2)[:2] == [
        "run 1: step 2: exit 0 in 0.31 s",
        "    print(6 * 7)",
    ]
    assert shown("step_started", step=2, revision=1) == ["step: 2 begins"]


def test_a_merge_says_what_did_not_go_together():
    conflict = {
        "path": "a.py", "steps": [1, 2], "copies": ["a.conflict-step2.py"], "what": "both changed"
    }  # fmt: skip
    left = [{"step": 3, "why": "no room"}]
    data = {"steps": [1, 2], "files": ["a.py", "b.py"], "conflicts": [conflict], "left_out": left}
    assert shown("merged", **data) == [
        "merged: 2 files of steps 1, 2",
        "conflict: a.py: both changed; a.conflict-step2.py beside it",
        "left out: step 3: no room",
    ]


@pytest.mark.parametrize(
    ("end", "text"),
    [("timeout", "stopped at the timeout limit"), ("memory", "stopped at the memory limit"),
     ("killed", "killed"), ("signaled", "killed by signal 11")],
)  # fmt: skip
def test_a_limit_that_was_hit_is_named(end, text):
    run = {**RUN, "end": end, "exit_code": None, "signal": 11, "succeeded": False}
    assert shown("run_finished", **run)[0] == f"run 1: {text} in 0.31 s"


def test_long_code_is_clipped_in_its_middle_and_says_how_much():
    code = {"text": "\n".join(f"line {n}" for n in range(100)), "dropped_bytes": 0, "digest": "d"}
    drawn = parts(event("run_finished", **{**RUN, "code": code}), Detail(code_lines=4))
    assert Code("line 0\nline 1\n... 96 more lines ...\nline 98\nline 99") in drawn


def test_what_was_not_kept_is_said():
    stdout = {"text": "head", "dropped_bytes": 2048, "digest": None}
    assert "    > ... 2.0 KiB not kept" in shown("run_finished", **{**RUN, "stdout": stdout})


def test_a_plan_shows_how_far_its_steps_have_come_where_that_is_known():
    found = {"steps": ["a", "b", "c"], "source": "model", "note": None}
    (_, steps) = parts(event("planned", **found, progress=["done", "begun", "todo"]), Detail())
    assert list(lines(steps)) == ["    1. a [done]", "    2. b [begun]", "    3. c"]
    (_, steps) = parts(event("planned", **found, progress=None), Detail())
    assert list(lines(steps)) == ["    1. a", "    2. b", "    3. c"]
    (line,) = parts(event("step_started", step=2, revision=1), Detail())
    assert list(lines(line)) == ["step: 2 begins"]


def test_a_verdict_names_the_run_it_rests_on_and_why_it_was_overruled():
    found = shown(
        "critiqued", revision=1, verdict="revise", feedback="Test the empty list", run="r2",
        overruled="no run had succeeded",
    )  # fmt: skip
    assert found == [
        "verdict: revise, resting on run 2",
        "overruled: no run had succeeded",
        "    Test the empty list",
    ]


def test_control_characters_of_a_program_never_reach_the_terminal():
    stdout = {"text": "\x1b[2Jgone\x07 \u202eedoc", "dropped_bytes": 0, "digest": None}
    found = shown("run_finished", **{**RUN, "stdout": stdout})
    assert "    > \\x1b[2Jgone\\x07 \\u202eedoc" in found


def test_an_event_of_a_kind_that_we_do_not_know_shows_nothing():
    assert shown("levitated", height=3) == []


def test_a_verification_says_what_was_run_and_what_the_experiment_has_shown():
    failed = {
        "replaced": ["calc.py"], "still_green": False, "end": "exited", "exit_code": 2,
        "stdout": {"text": "", "dropped_bytes": 0, "digest": None},
        "stderr": {"text": "no such", "dropped_bytes": 0, "digest": None}, "seconds": 0.1,
    }  # fmt: skip
    data = {
        "revision": 1, "source": "model", "command": "pytest -q", "run": "r3", "holds": True,
        "problem": None, "experiments": [failed], "workspace": "0" * 64,
    }  # fmt: skip
    assert shown("verified", **data) == [
        "verified: pytest -q (the model's command), in run 3",
        "experiment: with calc.py broken: failed as it must (exit 2)",
    ]
    green = {**failed, "still_green": True, "exit_code": 0}
    found = {**data, "holds": False, "problem": "It does not use calc.py.", "experiments": [green]}
    assert shown("verified", **found) == [
        "not verified: pytest -q (the model's command), in run 3",
        "It does not use calc.py.",
        "experiment: with calc.py broken: still green (exit 0)",
        "    > no such",
    ]
    none = {**found, "command": None, "source": None, "run": None, "experiments": []}
    assert shown("verified", **none)[0] == "not verified: nothing was run"
