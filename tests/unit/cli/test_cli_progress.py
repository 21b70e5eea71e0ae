"""Events become parts, and parts plain lines."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from cli.client.events import Event, read_event
from cli.render.events import parts
from cli.render.parts import Code, Line, Output, Steps, Tone
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


def test_a_run_that_failed_is_bad_and_shows_its_stderr_as_an_error():
    stderr = {"text": "ZeroDivisionError", "dropped_bytes": 0, "digest": None}
    failed = {**RUN, "exit_code": 1, "succeeded": False, "stderr": stderr}

    drawn = parts(event("run_finished", **failed), Detail())

    assert Line("run 1", "exit 1 in 0.31 s", Tone.BAD) in drawn
    assert Output("ZeroDivisionError", error=True) in drawn


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


def test_a_run_that_failed_says_why():
    failure = {"class": "zero_division", "cause": "ZeroDivisionError: \x1b[2J", "exception": "Z"}
    failed = {**RUN, "exit_code": 1, "succeeded": False, "failure": failure}
    assert shown("run_finished", **failed)[1] == "zero division: ZeroDivisionError: \\x1b[2J"


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


def test_a_plan_of_the_default_says_so_and_why():
    drawn = parts(
        event("planned", steps=["Do it"], source="default", note="the reply could not be read"),
        Detail(),
    )
    assert drawn == (
        Line("plan", "1 step (the default plan)"),
        Steps(("Do it",)),
        Line("note", "the reply could not be read", Tone.WARN),
    )


def test_a_plan_shows_how_far_its_steps_have_come_where_that_is_known():
    told = {"steps": ["a", "b", "c"], "source": "model", "note": None}
    (_, steps) = parts(event("planned", **told, progress=["done", "begun", "todo"]), Detail())
    assert list(lines(steps)) == ["    1. a [done]", "    2. b [begun]", "    3. c"]
    (_, steps) = parts(event("planned", **told, progress=None), Detail())
    assert list(lines(steps)) == ["    1. a", "    2. b", "    3. c"]
    (line,) = parts(event("step_started", step=2, revision=1), Detail())
    assert list(lines(line)) == ["step: 2 begins"]


def test_a_verdict_names_the_run_it_rests_on_and_why_it_was_overruled():
    told = shown(
        "critiqued", revision=1, verdict="revise", feedback="Test the empty list", run="r2",
        overruled="no run had succeeded",
    )  # fmt: skip
    assert told == [
        "verdict: revise, resting on run 2",
        "overruled: no run had succeeded",
        "    Test the empty list",
    ]


def test_a_model_call_shows_tokens_money_and_time():
    told = shown(
        "model_called", call="c", role="planner", model="groq:x", input_tokens=1200,
        output_tokens=34, cost_usd=None, seconds=1.234,
    )  # fmt: skip
    assert told == ["planner: asked groq:x: 1,200 + 34 tokens, price unknown, 1.23 s"]


def test_an_expired_review_says_what_then_counts():
    assert "it stays open" in shown("review_expired", review_id="r", then="stay")[0]
    assert "the job says: approve" in shown("review_expired", review_id="r", then="approve")[0]


def test_control_characters_of_a_program_never_reach_the_terminal():
    stdout = {"text": "\x1b[2Jgone\x07 \u202eedoc", "dropped_bytes": 0, "digest": None}
    told = shown("run_finished", **{**RUN, "stdout": stdout})
    assert "    > \\x1b[2Jgone\\x07 \\u202eedoc" in told


def test_an_event_of_a_kind_that_we_do_not_know_shows_nothing():
    assert shown("levitated", height=3) == []


def test_an_event_is_read_from_its_json():
    text = '{"seq": 3, "at": "2026-11-21T12:00:00.500Z", "kind": "failed", "data": {"a": 1}}'
    read = read_event(text)
    assert (read.seq, read.kind, read.data, read.final) == (3, "failed", {"a": 1}, True)
    assert read.at == datetime(2026, 11, 21, 12, 0, 0, 500_000, tzinfo=UTC)


def test_a_repair_says_what_came_of_it_and_who_made_it():
    data = {
        "run": "r2", "of": "r1", "class": "zero_division", "cause": "ZeroDivisionError",
        "model": "groq:m", "level": 0, "attempt": 1, "fixed": True, "same": None,
        "lines": {"added": 2, "removed": 1},
    }  # fmt: skip
    assert shown("repaired", **data) == [
        "repair: fixed (r1, zero division): repair 1 by groq:m, +2 -1 lines"
    ]
    assert shown("repaired", **{k: v for k, v in data.items() if k != "same"})[0].startswith(
        "repair: fixed"
    )
    failed = {**data, "fixed": False, "same": "failure"}  # of an older release
    assert "the failure is the same (r1" in shown("repaired", **failed)[0]
    assert "it fails in another way" in shown("repaired", **{**failed, "same": None})[0]


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
    told = {**data, "holds": False, "problem": "It does not use calc.py.", "experiments": [green]}
    assert shown("verified", **told) == [
        "not verified: pytest -q (the model's command), in run 3",
        "It does not use calc.py.",
        "experiment: with calc.py broken: still green (exit 0)",
        "    > no such",
    ]
    none = {**told, "command": None, "source": None, "run": None, "experiments": []}
    assert shown("verified", **none)[0] == "not verified: nothing was run"


def test_a_run_says_what_it_was_a_run_of():
    counts = {"failed": 1, "not_run": 2}
    told = {**RUN, "tool": "run_tests", "tests": {"counts": counts, "tests": []}}
    assert (
        shown("run_finished", **told)[0]
        == "run 1: run_tests, 1 failed, 2 not run, exit 0 in 0.31 s"
    )
    told = {**RUN, "tool": "shell"}
    assert shown("run_finished", **told)[0] == "run 1: shell, exit 0 in 0.31 s"
    drawn = parts(event("run_finished", **told), Detail())
    assert [part.language for part in drawn if isinstance(part, Code)] == ["bash"]


def test_a_tool_says_what_it_was_used_for():
    data = {"tool": "install", "path": None, "ok": True, "note": "attrs", "artifacts": []}
    assert shown("tool_used", **data) == ["tool: install: attrs"]
    assert shown("tool_used", **{**data, "path": "a.py", "note": ""}) == ["tool: install a.py"]
