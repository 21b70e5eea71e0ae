"""Each kind of event has a template, and no event can break the page."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from support.jobs.event_examples import EXAMPLES

from api.pages.format import job_view
from api.pages.rendering import FOLDER, render_template
from jobs.model.events import Event


def test_every_template_has_an_example_in_this_file():
    names = {path.stem for path in (FOLDER / "events").iterdir()} - {"other"}
    assert names <= EXAMPLES.keys()


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("opened", [False, True])
def test_each_kind_has_its_own_text(kind, opened):
    runs = frozenset({1} if opened else ())
    with capture_logs() as logs:
        (entry,) = job_view.timeline_entries("j", [Event(1, 0, kind, EXAMPLES[kind])], 0, runs)
    assert logs == []
    assert entry["body"].strip()


@pytest.mark.parametrize("kind", [*EXAMPLES, "of_a_later_release"])
@pytest.mark.parametrize("data", [{}, {"text": None, "number": None, "diff": 3, "steps": 1}])
def test_no_shape_of_an_event_breaks_the_page(kind, data):
    with capture_logs():
        entries = job_view.timeline_entries("j", [Event(1, 0, kind, data)], 0)
    assert 'id="e1"' in render_template("timeline.html", entries=entries)


def test_an_edit_shows_its_changes():
    (entry,) = job_view.timeline_entries("j", [Event(1, 0, "tool_used", EXAMPLES["tool_used"])], 0)
    assert '<span class="d-added">+new line</span>' in entry["body"]


UNMET = {"criterion": "floats", "location": "a.py:3", "reason": "it takes <int> only"}


@pytest.mark.parametrize(
    ("critique", "parts"),
    [
        ({"runs": ["r2", "r1"], "unmet": []}, ["on r2, r1"]),
        ({"runs": [], "unmet": [UNMET]}, ["floats", "<code>a.py:3</code>", "it takes &lt;int&gt;"]),
        (
            {"run": "r2", "runs": ["r1"], "failed": ["floats"], "score": 0.5},
            ["on r2, r1", "floats"],
        ),
    ],
    ids=["runs", "unmet criteria", "of an older release"],
)
def test_a_critique_shows_its_runs_and_the_unmet_criteria(critique, parts):
    data = {"revision": 1, "verdict": "revise", "feedback": "", "overruled": None, **critique}
    (entry,) = job_view.timeline_entries("j", [Event(1, 0, "critiqued", data)], 0)
    assert all(part in entry["body"] for part in parts)


def test_the_critics_use_of_a_tool_is_shown_with_its_output():
    used = {"tool": "run_again", "path": None, "ok": False, "note": "pytest", "artifacts": []}
    by_critic = {**used, "by": "critic", "output": "exit code 1\n<b>"}
    critic, executor = (
        job_view.timeline_entries("j", [Event(1, 0, "tool_used", data)], 0)[0]["body"]
        for data in (by_critic, used)
    )
    assert all(part in critic for part in ("critic&#39;s tool", "exit code 1\n&lt;b&gt;"))
    assert "critic" not in executor
