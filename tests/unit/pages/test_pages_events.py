"""Each kind of event has its own words on a page, and none can take the page away."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from support.jobs.job_examples import VERIFIED

from api.pages.format import job_view
from api.pages.rendering import FOLDER, drawn
from jobs.model.events import Event

TEXT = {"text": "x", "dropped_bytes": 0, "digest": None}
TESTS = [
    {"id": "test_a", "outcome": "passed", "detail": ""},
    {"id": "b", "outcome": "failed", "detail": "no"},
]
RUN = {
    "id": "r1", "number": 1, "revision": 1, "by": "executor", "code": TEXT, "end": "exited",
    "exit_code": 1, "signal": None, "stdout": TEXT, "stderr": TEXT, "seconds": 0.1,
    "succeeded": False, "failure": {"class": "zero_division", "cause": "by 0", "exception": "Z"},
    "artifacts": [{"name": "a.png", "digest": "0" * 64, "size": 1, "media_type": "image/png"}],
    "refused": ["b: too large"], "tool": "run_tests", "tests": {"counts": {}, "tests": TESTS},
}  # fmt: skip
REPAIRED = {
    "run": "r2", "of": "r1", "class": "name", "cause": "x", "diff": {**TEXT, "text": "-a\n+b"},
    "lines": {"added": 1, "removed": 1}, "model": "m", "level": 0, "attempt": 1, "revision": 1,
    "fixed": True, "same": None,
}  # fmt: skip
CALLED = {
    "call": "c", "role": "planner", "model": "m", "input_tokens": 1, "cached_input_tokens": 0,
    "output_tokens": 1, "cost_usd": None, "seconds": 0.1,
    "fell_back_from": [{"model": "n", "reason": "away"}],
}  # fmt: skip
CRITIQUED = {"revision": 1, "verdict": "revise", "feedback": "f", "run": "r1", "overruled": "why"}
DECIDED = {
    "review_id": "r",
    "action": "approve",
    "by": "a",
    "feedback": "f",
    "override": True,
    "digest": "0" * 64,
}
WHOLE = {
    "submitted": {"by": "a", "task": "t", "retry_of": "0" * 20},
    "started": {"attempt": 1, "worker": "w"},
    "planned": {"steps": ["a"], "source": "caller", "note": "n"},
    "model_called": CALLED,
    "run_finished": RUN,
    "repaired": REPAIRED,
    "tool_used": {"tool": "t", "path": "p", "ok": False, "note": "n", "artifacts": []},
    "step_started": {"step": 1, "revision": 1},
    "step_finished": {"step": 1, "revision": 1},
    "merged": {
        "steps": [1, 2], "files": ["a"], "left_out": [{"step": 3, "why": "w"}],
        "conflicts": [{"path": "a", "steps": [1, 2], "copies": ["b", "c"], "what": "w"}],
    },
    "answered": {"revision": 1, "text": "t"},
    "review_opened": {"review_id": "r", "kind": "questions", "digest": "d"},
    "review_expired": {"review_id": "r", "then": "stay"},
    "review_reminded": {"review_id": "r", "waited_seconds": 1_800},
    "review_escalated": {"review_id": "r", "waited_seconds": 3_600},
    "voted": {"by": "a", "feedback": "f", "approvals": 1, "approvals_needed": 2},
    "decided": DECIDED,
    "begun_anew": {"by": "a", "format": 2},
    "checked": {"revision": 1, "passed": False, "problem": "p", "tests": TESTS, "run": {}},
    "verified": VERIFIED,
    "asked": {"questions": [{"question": "q", "default": "d"}], "note": "n"},
    "tests_written": {"files": ["t.py"], "tests": ["a"], "dropped": [{"id": "b", "why": "w"}]},
    "critiqued": CRITIQUED,
    "routed": {"difficulty": "hard", "model": "m", "reason": "r", "by": "rules"},
    "summarized": {"text": "t"},
    "given_back": {"why": "retry", "detail": "d", "delay_ms": 10},
    "lease_lost": {"worker": "w", "crashes": 1},
    "succeeded": {"approved_by": "a"},
    "failed": {"reason": "deadline", "detail": "d"},
    "cancelled": {"by": "a"},
}  # fmt: skip


def test_every_template_has_an_example_here():
    names = {path.stem for path in (FOLDER / "events").iterdir()} - {"other"}
    assert names <= WHOLE.keys()


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("opened", [False, True])
def test_each_kind_is_reported_in_its_own_words(kind, opened):
    runs = frozenset({1} if opened else ())
    with capture_logs() as said:
        (entry,) = job_view.timeline("j", [Event(1, 0, kind, WHOLE[kind])], 0, runs)
    assert said == []
    assert entry["body"].strip()


@pytest.mark.parametrize("kind", [*WHOLE, "of_a_later_release"])
@pytest.mark.parametrize("data", [{}, {"text": None, "number": None, "diff": 3, "steps": 1}])
def test_no_shape_of_an_event_takes_the_page_away(kind, data):
    with capture_logs():
        entries = job_view.timeline("j", [Event(1, 0, kind, data)], 0)
    assert 'id="e1"' in drawn("timeline.html", entries=entries)
