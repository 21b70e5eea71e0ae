"""The plan on a job's page: it claims no progress that no event has reported."""

from __future__ import annotations

import re

import pytest

from api.pages.format.job_view import plan_steps
from api.pages.rendering import drawn


def page(status: str, progress: list[str] | None) -> str:
    plan = {"steps": ["a", "b", "c"], "source": "model", "note": None, "progress": progress}
    job = {"plan": plan, "status": status, "runs": [1]}
    return drawn("job_plan.html", job=job, steps=plan_steps(job))


def states(html: str) -> list[str]:
    return re.findall(r'class="step step-(\w+)"', html)


@pytest.mark.parametrize("status", ["running", "queued", "succeeded", "failed"])
def test_of_a_model_that_says_nothing_nothing_is_claimed(status):
    html = page(status, None)
    assert states(html) == ["unknown"] * 3
    assert "has not reported" in html
    assert "done" not in html


def test_steps_are_done_at_work_and_to_do():
    html = page("running", ["done", "begun", "todo"])
    assert states(html) == ["done", "doing", "todo"]
    assert "1 of 3 done" in html
    assert states(page("failed", ["done", "begun", "todo"])) == ["done", "begun", "todo"]


def test_without_a_plan_there_is_nothing():
    assert (
        drawn(
            "job_plan.html",
            job={"plan": None},
            steps=plan_steps({"plan": None, "status": "running"}),
        ).strip()
        == ""
    )
