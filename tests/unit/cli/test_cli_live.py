"""What the live view of a job shows, on a terminal."""

from __future__ import annotations

import io
from datetime import UTC, datetime

from rich.console import Console

from cli.client.events import Event
from cli.follow.live_view import LiveView
from cli.output import Screen
from cli.render.runs import Detail

CALL = {"role": "executor", "input_tokens": 100, "output_tokens": 10, "cost_usd": "0.001"}
CALLED = {**CALL, "model": "groq:x", "seconds": 1.0}


def footer(view: LiveView) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(view.footer)
    return console.file.getvalue()


def test_the_footer_shows_totals_and_what_models_write():
    at = datetime(2026, 11, 21, tzinfo=UTC)
    facts = [
        ("planned", {"steps": ["a", "b"], "source": "model", "note": None}),
        ("step_started", {"step": 1}),
        ("model_called", CALLED),
        ("model_called", CALLED),
        ("decided", {"action": "revise", "by": "ann", "override": False, "feedback": ""}),
    ]
    view = LiveView(Screen(stderr=True), Detail(), lambda _made: None)
    for seq, (kind, data) in enumerate(facts, 1):
        view.show(Event(seq, at, kind, data))
    assert "step 1 of 2 · revision 2 · 2 calls · 0 runs · $0.0020" in footer(view)

    for text in ("import math\\nprin", 't(\\"\x1b[31m'):
        view.hear({"call": "c", "role": "executor", "part": "tool", "text": text, "try": 1})
    assert 'executor: print("\\x1b[31m' in footer(view)
    view.hear({"call": "c", "role": "executor", "part": "tool", "text": "again", "try": 2})
    assert "executor: again" in footer(view)
    view.show(Event(9, at, "model_called", {**CALLED, "cost_usd": None}))
    assert "3 calls · 0 runs · price unknown" in footer(view)
    assert "again" not in footer(view)
