"""A job's transcript, as Markdown and as JSON."""

from __future__ import annotations

import json

import pytest
from support.servers.tiny_service import Answer, event, job, stream

from cli.main import run
from cli.render.events import SHOWN
from jobs.model.event_data import KINDS

TEXT = {"dropped_bytes": 0, "digest": None, "href": ""}


def a_run(number, *, exit_code=0, **changes):
    shown = {
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
    return {**shown, **changes}


@pytest.fixture
def finished(tiny):
    cut = {"text": "head ... tail", "dropped_bytes": 0, "digest": "d" * 64}
    failure = {"class": "name", "cause": "NameError: x", "exception": "NameError"}
    tests = [
        {"id": "test_a.py::test_a", "outcome": "failed", "detail": "E  assert 1 == 2"},
        {"id": "test_a.py::test_b", "outcome": "passed", "detail": "not told"},
    ]
    shown = [
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
            model="groq:m",
            attempt=1,
            fixed=True,
            lines={"added": 1, "removed": 1},
            **{"class": "name"},
        ),
        event(6, "run_finished", **a_run(2, tool="shell", stdout={"text": "```\n", **TEXT})),
        event(7, "answered", revision=1, text="It is sorted."),
        event(
            8, "checked", revision=1, passed=False, problem="time was over", tests=tests, seconds=1
        ),
        event(9, "critiqued", revision=1, verdict="approve", feedback="", run="r2", overruled=None),
        event(10, "succeeded", approved_by="critic"),
    ]
    tiny.on("GET /jobs/j1", Answer(200, job(last_event=10)))
    tiny.on("GET /jobs/j1/events", stream(*shown))
    tiny.on(
        "GET /jobs/j1/runs/1/stderr",
        Answer(200, b"the whole of it", {"Content-Type": "text/plain"}),
    )
    tiny.on(
        "GET /jobs/j1/repairs/r2/diff",
        Answer(200, b"-x\n+y", {"Content-Type": "text/plain"}),
    )
    return tiny


def test_markdown_shows_it_in_order(finished, capsys):
    assert run(["--url", finished.url, "export", "j1"]) == 0
    text = capsys.readouterr().out
    places = [
        text.index(part)
        for part in (
            "# Job j1",
            "Sort a list",
            "1. Write it",
            "**tool** write_file a.py",
            "**run 1** exit 1 in 0.50 s",
            "**name** NameError: x",
            "the whole of it",
            "**repair** fixed (r1, name)",
            "```diff\n-x\n+y\n```",
            "**run 2** shell, exit 0",
            "````text\n```\n````",
            "It is sorted.",
            "**checks** 1 of 2 passed",
            "time was over\n",
            "**failed** test_a.py::test_a\n\n```text\nE  assert 1 == 2\n```\n",
            "**verdict** approve, resting on run 2",
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
    shown = json.loads(path.read_text())
    assert shown["job"]["id"] == "j1"
    assert [each["seq"] for each in shown["events"]] == list(range(1, 11))
    assert shown["texts"] == {"r1/stderr": "the whole of it", "r2/diff": "-x\n+y"}


def test_a_file_that_cannot_be_written(finished, tmp_path, capsys):
    assert run(["--url", finished.url, "export", "j1", "-o", str(tmp_path / "no" / "x.md")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_every_kind_of_event_is_shown():
    assert KINDS.keys() == SHOWN | {"submitted"}  # the head of a transcript shows that
