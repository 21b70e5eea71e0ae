"""Where the graph goes next, and how a job starts and ends."""

from __future__ import annotations

from typing import Any

import pytest

from agents.graph.job_input import JobInput, initial_state
from agents.graph.outcome import outcome
from agents.graph.routing import after_critic, after_review, after_verification
from agents.nodes.review import decision_update
from agents.nodes.summarize import summary
from agents.ports import Earlier


def test_a_person_is_asked_only_where_the_job_says_so() -> None:
    assert after_verification(initial_state(JobInput("Add.", review=True))) == "review"
    assert after_verification(initial_state(JobInput("Add."))) == "critic"


@pytest.mark.parametrize(
    ("action", "node"),
    [
        ("approve", "summarize"),
        ("revise", "executor"),
        ("edit", "edit"),
        ("delegate", "critic"),
    ],
)
def test_the_latest_decision_leads_on(action: str, node: str) -> None:
    older = decision_update({"action": "edit", "by": "Ada"}, proven=True)["decisions"]
    newer = decision_update({"action": action, "by": "Ada"}, proven=True)["decisions"]  # type: ignore[typeddict-item]
    assert after_review({"decisions": [*older, *newer]}) == node


@pytest.mark.parametrize(
    ("approved_by", "exhausted", "node"),
    [("critic", False, "summarize"), (None, True, "summarize"), (None, False, "executor")],
)
def test_the_critic_sends_back_until_it_may_not(
    approved_by: str | None, exhausted: bool, node: str
) -> None:
    assert after_critic({"approved_by": approved_by, "exhausted": exhausted}) == node


def test_only_an_approval_approves() -> None:
    assert decision_update({"action": "approve", "by": "Ada"}, proven=True)["approved_by"] == "Ada"
    assert not decision_update({"action": "approve", "by": "Ada", "override": True}, proven=True)[
        "override"
    ]
    assert decision_update({"action": "approve", "by": "Ada"}, proven=False)["override"]
    assert "approved_by" not in decision_update({"action": "delegate", "by": "Ada"}, proven=True)


def test_feedback_is_for_the_executor() -> None:
    change = decision_update({"action": "revise", "by": "Ada", "feedback": "More."}, proven=True)
    assert change["feedback"] == {"by": "Ada", "text": "More."}


def test_a_job_starts_with_the_last_three_of_its_conversation() -> None:
    earlier = tuple(Earlier(str(n), "done") for n in range(5))
    job = initial_state(JobInput("Add.", earlier=earlier, files=("b", "a")))["job"]
    assert [each["task"] for each in job["earlier"]] == ["2", "3", "4"]
    assert job["files"] == ["a", "b"]


def test_a_job_that_did_not_get_far_has_an_outcome_all_the_same() -> None:
    ended = outcome(initial_state(JobInput("Add.")))
    assert (ended.approved, ended.answer, ended.artifacts) == (False, "", ())


def finished(**more: Any) -> Any:
    artifact = {"name": "a.py", "digest": "d", "size": 1, "media_type": "text/x-python"}
    answers = [{"revision": 1, "text": "Two\nlines."}]
    return {
        **initial_state(JobInput("Add.")),
        "answers": answers,
        "artifacts": {"a.py": artifact},
        **more,
    }


@pytest.mark.parametrize(
    ("change", "end"),
    [
        ({"approved_by": "critic"}, "Approved by the critic."),
        ({"approved_by": "Ada"}, "Approved by Ada."),
        (
            {"exhausted": True},
            "Not approved: the revisions ran out, and the job counts as failed.",
        ),
    ],
)
def test_the_summary_is_one_paragraph(change: dict[str, Any], end: str) -> None:
    assert summary(finished(**change), "Two lines.") == f"Two lines. Files: a.py. {end}"


def test_the_summary_of_a_job_that_accepts_what_it_has_says_so() -> None:
    job = {**initial_state(JobInput("Add.", on_exhausted="accept")), "exhausted": True}
    assert summary(job, "").endswith("and this is the best result so far.")  # type: ignore[arg-type]
