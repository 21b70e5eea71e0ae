"""The transcript of a job, as Markdown and as JSON, with an event of every kind."""

from __future__ import annotations

import json

import pytest
from support.jobs.event_examples import EXAMPLES
from support.servers.tiny_service import Answer, event, job, stream

from cli.main import run
from cli.render.events import SHOWN
from jobs.model.event_data import KINDS

CUT = {"text": "head ... tail", "dropped_bytes": 0, "digest": "d" * 64}
TOLD = {
    **{kind: data for kind, data in EXAMPLES.items() if kind not in ("failed", "cancelled")},
    "run_finished": {**EXAMPLES["run_finished"], "stderr": CUT},
    "repaired": {**EXAMPLES["repaired"], "diff": CUT},
}
WRITTEN = {"name": "a.py", "digest": "e" * 64, "size": 10, "media_type": "text/x-python"}
PICTURE = {"name": "a.png", "digest": "f" * 64, "size": 4, "media_type": "image/png"}
WRITE = {"tool": "write_file", "path": "a.py", "ok": True, "artifacts": [WRITTEN, PICTURE]}


@pytest.fixture
def finished(tiny):
    plain = {"Content-Type": "text/plain"}
    happened = [*TOLD.items()]
    happened.insert(-1, ("tool_used", WRITE))  # the last event of this job is final
    events = [event(seq, kind, **data) for seq, (kind, data) in enumerate(happened, start=1)]
    tiny.on("GET /jobs/j1", Answer(200, job(last_event=len(happened))))
    tiny.on("GET /jobs/j1/artifacts/a.py", Answer(200, b"print(1)\n", plain))
    tiny.on("GET /jobs/j1/artifacts/a.png", Answer(200, b"\x89P\0G", plain))
    tiny.on("GET /jobs/j1/events", stream(*events))
    tiny.on("GET /jobs/j1/runs/1/stderr", Answer(200, b"```\nthe whole of it", plain))
    tiny.on("GET /jobs/j1/repairs/r2/diff", Answer(200, b"-x\n+y", plain))
    return tiny


def test_markdown_shows_the_events_in_order_with_full_texts(finished, capsys):
    assert run(["--url", finished.url, "export", "j1"]) == 0
    text = capsys.readouterr().out
    parts = (
        "# Job j1",
        "Sort a list",
        "**run 1**",
        "````text\n```\nthe whole of it\n````",
        "```diff\n-x\n+y\n```",
        "```diff\n@@ -1 +1 @@\n-old line\n+new line\n```",
        "**tool** write_file a.py\n\n```python\nprint(1)\n```",
        "| all | 3 | 1000 | 234 | $0.0012 |",
    )
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert "head ... tail" not in text


def test_json_has_the_job_its_events_and_full_texts(finished, tmp_path):
    path = tmp_path / "job.json"
    assert run(["--url", finished.url, "export", "j1", "-o", str(path)]) == 0
    document = json.loads(path.read_text())
    assert document["job"]["id"] == "j1"
    assert [event["kind"] for event in document["events"]] == [
        *list(TOLD)[:-1],
        "tool_used",
        *list(TOLD)[-1:],
    ]
    assert document["files"] == {"e" * 64: "print(1)\n"}
    assert document["texts"] == {"r1/stderr": "```\nthe whole of it", "r2/diff": "-x\n+y"}


def test_a_file_that_cannot_be_written(finished, tmp_path, capsys):
    assert run(["--url", finished.url, "export", "j1", "-o", str(tmp_path / "no" / "x.md")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_every_kind_of_event_is_shown():
    assert KINDS.keys() == SHOWN | {"submitted"}  # the head of a transcript shows this event
    assert EXAMPLES.keys() == KINDS.keys()
