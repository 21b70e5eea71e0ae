"""A job's transcript, as Markdown and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from support.servers.tiny_service import Answer, event, job, stream

from api.quantities import duration
from cli.client.events import Event
from cli.main import run
from cli.render.transcript_events import LEFT_OUT, told
from jobs.model.event_data import KINDS

TEXT = {"dropped_bytes": 0, "digest": None, "href": ""}


def a_run(number, *, exit_code=0, **changes):
    told = {
        "id": f"r{number}",
        "number": number,
        "revision": 1,
        "by": "executor",
        "code": {"text": "print(1)", **TEXT},
        "end": "exited",
        "exit_code": exit_code,
        "signal": None,
        "stdout": {"text": "", **TEXT},
        "stderr": {"text": "", **TEXT},
        "seconds": 0.5,
        "succeeded": exit_code == 0,
        "artifacts": [],
        "refused": [],
    }
    return {**told, **changes}


@pytest.fixture
def finished(tiny):
    cut = {"text": "head ... tail", "dropped_bytes": 0, "digest": "d" * 64}
    failure = {"class": "name", "cause": "NameError: x", "exception": "NameError"}
    tests = [
        {"id": "test_a.py::test_a", "outcome": "failed", "detail": "E  assert 1 == 2"},
        {"id": "test_a.py::test_b", "outcome": "passed", "detail": "not told"},
    ]
    told = [
        event(1, "submitted", by="me"),
        event(2, "planned", steps=["Write it", "Test it"], source="model", note=None),
        event(3, "tool_used", tool="write_file", path="a.py", ok=True, note="", artifacts=[]),
        event(4, "run_finished", **a_run(1, exit_code=1, stderr=cut, failure=failure)),
        event(
            5,
            "repaired",
            run="r2",
            of="r1",
            cause="NameError: x",
            diff={"text": "-x ... +y", "dropped_bytes": 0, "digest": "e" * 64},
            **{"class": "name"},
        ),
        event(6, "run_finished", **a_run(2, tool="shell", stdout={"text": "```\n", **TEXT})),
        event(7, "answered", revision=1, text="It is sorted."),
        event(8, "checked", revision=1, passed=False, problem="time was over", tests=tests),
        event(9, "critiqued", revision=1, verdict="approve", feedback="", run="r2", overruled=None),
        event(10, "succeeded", approved_by="critic"),
    ]
    tiny.on("GET /jobs/j1", Answer(200, job(last_event=10)))
    tiny.on("GET /jobs/j1/events", stream(*told))
    tiny.on(
        "GET /jobs/j1/runs/1/stderr",
        Answer(200, b"the whole of it", {"Content-Type": "text/plain"}),
    )
    tiny.on(
        "GET /jobs/j1/repairs/r2/diff",
        Answer(200, b"-x\n+y", {"Content-Type": "text/plain"}),
    )
    return tiny


def test_markdown_tells_it_in_order(finished, capsys):
    assert run(["--url", finished.url, "export", "j1"]) == 0
    text = capsys.readouterr().out
    places = [
        text.index(part)
        for part in (
            "# Job j1",
            "Sort a list",
            "1. Write it",
            "* write_file `a.py`",
            "## Run r1 (python): exit code 1, 0.50 s",
            "the whole of it",
            "Failure: name: NameError: x",
            "## Repair of r1 in r2: name",
            "```diff\n-x\n+y\n```",
            "## Run r2 (shell)",
            "````text\n```\n````",
            "## Answer, revision 1\n\nIt is sorted.",
            "## Checks: not passed\n\ntime was over\n",
            "* failed `test_a.py::test_a`\n\n```text\nE  assert 1 == 2\n```\n",
            "* passed `test_a.py::test_b`",
            "## Verdict, revision 1: approve, resting on r2",
            "succeeded, approved by critic",
            "| all | 3 | 1000 | 234 | $0.0012 |",
        )
    ]
    assert places == sorted(places)
    assert "head ... tail" not in text
    assert "not told" not in text


def test_json_holds_job_events_and_whole_texts(finished, tmp_path):
    path = tmp_path / "job.json"
    assert run(["--url", finished.url, "export", "j1", "-o", str(path)]) == 0
    told = json.loads(path.read_text())
    assert told["job"]["id"] == "j1"
    assert [each["seq"] for each in told["events"]] == list(range(1, 11))
    assert told["texts"] == {"r1/stderr": "the whole of it", "r2/diff": "-x\n+y"}


def test_a_job_that_runs_is_told_as_far_as_it_has_come(tiny, capsys):
    tiny.on(
        "GET /jobs/j1",
        Answer(200, job(status="running", last_event=1, finished_at=None, result=None)),
    )
    planned = event(2, "planned", steps=["Later"], source="model", note=None)
    tiny.on("GET /jobs/j1/events", stream(event(1, "submitted", by="me"), planned))
    assert run(["--url", tiny.url, "export", "j1"]) == 0
    text = capsys.readouterr().out
    assert "| status | running |" in text
    assert "Later" not in text


def test_a_file_that_cannot_be_written(finished, tmp_path, capsys):
    assert run(["--url", finished.url, "export", "j1", "-o", str(tmp_path / "no" / "x.md")]) == 1
    assert "cannot be written" in capsys.readouterr().err


DECIDED = {
    "by": "ada",
    "action": "approve",
    "feedback": "well done",
    "override": True,
    "digest": "abc",
    "digest_named": True,
    "approvals": ["grace", "ada"],
}
OTHERS = {
    "asked": ({"questions": [{"question": "Which?", "default": "any"}]}, ["1. Which? (else: any)"]),
    "tests_written": (
        {"tests": ["test_a"], "dropped": [{"id": "test_b", "why": "passes on nothing"}]},
        ["* `test_a`", "* thrown out: `test_b`: passes on nothing"],
    ),
    "routed": (
        {"difficulty": "hard", "model": None, "reason": "it is long"},
        ["* routed to the default model: hard (it is long)"],
    ),
    "decided": (
        DECIDED,
        [
            "## Decision: approve, by ada",
            "* at 2026-01-02T03:04:05+00:00",
            "* of what has the digest `abc`, which the decision named",
            "* although the evidence does not bear it",
            "* approved before by grace",
            "well done",
        ],
    ),
    "voted": (
        {"by": "grace", "feedback": "", "approvals": 1, "approvals_needed": 2, "digest": "abc"},
        ["## Approval 1 of 2, by grace", "* of what has the digest `abc`"],
    ),
    "merged": (
        {
            "steps": [1, 2],
            "files": ["a.py"],
            "conflicts": [{"path": "a.py", "what": "was changed by both", "copies": ["b.py"]}],
            "left_out": [{"step": 3, "why": "it took too long"}],
        },
        [
            "## Merge of steps 1, 2: 1 file",
            "* conflict: `a.py` was changed by both; beside it: b.py",
            "* step 3 was left out: it took too long",
        ],
    ),
    "review_opened": ({"kind": "questions"}, ["* a person is asked (questions)"]),
    "review_expired": ({"then": "reject"}, ["* nobody decided in time: reject"]),
    "review_reminded": ({"waited_seconds": 60}, [f"* review reminded of, after {duration(60)}"]),
    "review_escalated": ({"waited_seconds": 60}, [f"* review escalated, after {duration(60)}"]),
    "given_back": ({"why": "drained"}, ["* given back to the queue (drained)"]),
    "lease_lost": ({"worker": "w"}, ["* worker w was lost; another goes on"]),
    "begun_anew": ({"by": "ada"}, ["* begun anew by ada: what stands above was given up"]),
    "verified": (
        {
            "revision": 2,
            "source": "job",
            "command": "pytest -q",
            "run": "r3",
            "holds": False,
            "problem": "It does not use calc.py.",
            "experiments": [
                {
                    "replaced": ["calc.py"],
                    "still_green": True,
                    "end": "exited",
                    "exit_code": 0,
                    "stdout": {"text": "1 passed\n", "dropped_bytes": 0, "digest": None},
                    "stderr": {"text": "", "dropped_bytes": 0, "digest": None},
                    "seconds": 0.1,
                }
            ],
            "workspace": "0" * 64,
        },
        [
            "## Verification, revision 2: is no evidence",
            "pytest -q (the job's command), in run 3",
            "It does not use calc.py.",
            "* with calc.py broken: still green (exit 0)",
            "<summary>stdout</summary>",
            "1 passed",
        ],
    ),
    "summarized": ({"text": "all is well"}, ["all is well"]),
    "cancelled": ({"by": "ada"}, ["* cancelled by ada"]),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_each_other_kind_in_its_own_words(kind):
    data, lines = OTHERS[kind]
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert [line for line in told(Event(1, at, kind, data), {}) if line in lines] == lines


def test_answers_stand_with_the_decision():
    data = {"by": "ada", "action": "answer", "answers": ["this", "that"]}
    lines = list(told(Event(1, datetime.now(UTC), "decided", data), {}))
    assert lines[-3:] == ["1. this", "2. that", ""]


def test_every_kind_of_event_is_told_or_left_out_for_a_reason():
    in_order = {"planned", "run_finished", "tool_used", "answered", "repaired", "checked"}
    tested = in_order | {"critiqued"} | OTHERS.keys() | LEFT_OUT.keys()
    assert KINDS.keys() == tested
