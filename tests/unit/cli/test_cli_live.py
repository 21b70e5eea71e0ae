"""The live view of a job: the output of runs in progress, and the time of its steps."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console
from support.jobs.event_examples import EXAMPLES

from cli.follow import live_view
from cli.follow.live_view import LiveView
from cli.output import Screen
from cli.render.evidence import Detail
from cli.render.part_formats import plain_lines
from cli.render.work_events import plan_parts
from fettle.events import ReceivedEvent

CHUNK = {"call": "r1", "role": "shell", "part": "output", "text": "", "try": 1,
         "command": "pytest -q", "seconds": 4.0}  # fmt: skip


@pytest.fixture
def view() -> LiveView:
    return LiveView(Screen(), Detail(), lambda _path, _digest: None)


def below(view: LiveView) -> list[str]:
    """The lines of the footer below its totals."""
    console = Console(file=io.StringIO(), width=60, color_system=None)
    with console.capture() as captured:
        console.print(view.footer)
    return [line.rstrip() for line in captured.get().splitlines()[1:]]


def finished(**data: Any) -> ReceivedEvent:
    data = {**EXAMPLES["run_finished"], **data}
    return ReceivedEvent(9, datetime(2026, 11, 21, tzinfo=UTC), "run_finished", data)


def test_a_run_in_progress_shows_its_command_its_time_and_its_last_lines(view: LiveView) -> None:
    view.hear(CHUNK)
    assert below(view) == ["   4 s  shell: pytest -q"]
    view.hear({**CHUNK, "text": "a\nb\nc\n\nd", "try": 2, "seconds": 65.0})
    assert below(view) == ["   65 s  shell: pytest -q", "   b", "   c", "   d"]
    view.hear({**CHUNK, "call": "r2", "command": "make"})
    assert below(view)[-1] == "   4 s  shell: make"


def test_the_event_of_a_run_replaces_its_lines(view: LiveView) -> None:
    view.hear(CHUNK)
    view.hear({**CHUNK, "call": "r2", "command": "make"})
    view.show(finished(id="r1"))
    assert below(view) == ["   4 s  shell: make"]
    view.show(finished(id="r2"))
    assert below(view) == []


def test_output_cannot_control_the_terminal(view: LiveView) -> None:
    view.hear({**CHUNK, "command": "x\x1b]0;t\x07", "text": "\x1b[2J\u202egone" + "y" * 500})
    title, line = below(view)
    assert title == "   4 s  shell: x\\x1b]0;t\\x07"
    assert line.startswith("   \\x1b[2J\\u202egone")
    assert len(line) <= 60


def test_a_run_whose_worker_is_silent_disappears(
    view: LiveView, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1_000.0
    monkeypatch.setattr(live_view.time, "monotonic", lambda: now)
    view.hear(CHUNK)
    now += 9.0
    assert below(view) == ["   13 s  shell: pytest -q"]
    now += 2.0
    assert below(view) == []


def at(seconds: float, kind: str, **data: Any) -> ReceivedEvent:
    return ReceivedEvent(1, datetime.fromtimestamp(seconds, tz=UTC), kind, data)


def test_steps_show_their_time_while_and_after_the_job_works_on_them(
    view: LiveView, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(live_view.time, "time", lambda: 170.0)
    for event in (
        at(100, "planned", steps=["a", "b"], source="model", note=None),
        at(100, "step_started", step=1, revision=1),
        at(142, "step_finished", step=1, revision=1),
        at(142, "step_started", step=2, revision=1),
    ):
        view.show(event)
    assert "step: 1 is done, 42.0 s\nstep: 2 begins\n" in capsys.readouterr().out
    assert "step 2 of 2 for 28 s" in view.footer.totals_text()
    view.show(at(150, "given_back", **EXAMPLES["given_back"]))
    assert "step" not in view.footer.totals_text()


def test_a_shown_plan_has_the_time_of_each_step() -> None:
    times = [
        {"started_at": "1970-01-01T00:00:01Z", "seconds": 90.0, "since": None},
        {"started_at": None, "seconds": 0.0, "since": None},
    ]
    plan = {"steps": ["a", "b"], "source": "model", "note": None}
    drawn = plan_parts({**plan, "progress": ["done", "todo"], "times": times}, Detail())
    assert [line for part in drawn for line in plain_lines(part)] == [
        "plan: 2 steps",
        "    1. a [done, 1 min 30 s]",
        "    2. b",
    ]
    since = (datetime.now(UTC) - timedelta(seconds=100)).isoformat()
    going_on = [{"started_at": since, "seconds": 60.0, "since": since}, times[1]]
    drawn = plan_parts({**plan, "progress": ["begun", "todo"], "times": going_on}, Detail())
    assert "    1. a [begun, 2 min 4" in "\n".join(
        line for part in drawn for line in plain_lines(part)
    )
