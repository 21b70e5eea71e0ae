"""Jobs and results in a notebook."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fettle import Job, Service, types
from fettle.errors import FettleError
from fettle.notebook import job_html

AT = "2026-11-27T10:00:00Z"
SPEND = {"calls": 3, "input_tokens": 9, "output_tokens": 9, "cost_usd": "0.5", "known_usd": "0.5"}


def a_job(**fields: Any) -> types.Job:
    task: dict[str, Any] = {"task": "Sort <script>alert(1)</script>"}
    spec = types.Spec.model_construct(**task)
    cost = types.Cost(roles={}, total=types.Spend.model_validate(SPEND))
    plan = {"steps": ["Write.", "Run."], "source": "model", "note": None, "at": AT}
    missing = dict.fromkeys(("critique", "verification", "reason", "result"))
    progress = types.Plan.model_validate({**plan, "progress": ["done", "begun"], "times": None})
    fields_read = {"id": "j1", "status": "awaiting_review", "spec": spec, "cost": cost, "runs": []}
    return types.Job.model_construct(**{**missing, **fields_read, "plan": progress, **fields})


def test_it_shows_the_state_and_escapes_all_texts() -> None:
    html = job_html(a_job(), "j1", "http://127.0.0.1:8000/app/jobs/j1", ["<b>.py"])
    assert "awaiting review" in html
    assert 'href="http://127.0.0.1:8000/app/jobs/j1"' in html
    assert "<li>Write. &#10003;</li><li>Run. &#9656;</li>" in html
    assert "$0.5" in html
    assert "&lt;b&gt;.py" in html
    assert "<script" not in html


def test_a_job_that_was_not_read_shows_its_page() -> None:
    with Service("http://127.0.0.1:8000") as service:
        assert "/app/jobs/j1" in Job(service, "j1")._repr_html_()


def test_watch_shows_the_newest_state_after_each_event(monkeypatch: pytest.MonkeyPatch) -> None:
    pages: list[str] = []
    display = SimpleNamespace(update=lambda job: pages.append(job._repr_html_()))
    interactive = SimpleNamespace(display=lambda _job, *, display_id: display)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=interactive))
    monkeypatch.setitem(sys.modules, "IPython.display", interactive)
    with Service("http://127.0.0.1:8000") as service:
        job = Job(service, "j1")
        newest = [2, 3, 4]
        states = iter(
            a_job(status=status, last_event=number)
            for status, number in zip(
                ("running", "awaiting_review", "succeeded"), newest, strict=True
            )
        )

        def read() -> types.Job:
            job.last = next(states)
            return job.last

        events = (SimpleNamespace(seq=seq) for seq in (1, 2, *newest))
        monkeypatch.setattr(job, "state", read)
        monkeypatch.setattr(job, "events", lambda: events)
        job.watch()
    states_on_pages = [page.partition("</b>")[0] for page in pages]
    assert states_on_pages == ["<div><b>running", "<div><b>awaiting review", "<div><b>succeeded"]


def test_without_a_notebook_an_error_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)
    with Service("http://127.0.0.1:8000") as service, pytest.raises(FettleError) as refused:
        Job(service, "j1").watch()
    assert "events" in refused.value.remedy
