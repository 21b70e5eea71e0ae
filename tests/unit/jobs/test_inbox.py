"""The order of the jobs that wait for a person, and the job that follows a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW
from support.pages.api_front import a_run

from jobs.model.record import JobRecord, Status
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.view.inbox import Order, next_after, sort_waiting

AMBER = {"unproven": None, "runs": [a_run()]}
RED = {"unproven": "the last run failed", "runs": [a_run(succeeded=False)]}
GREY = {"unproven": "no run", "runs": []}


def waiting(job_id: str, opened_at: int, payload=AMBER, kind=ReviewKind.REVIEW) -> JobRecord:
    """A job that was submitted at `NOW`; its review was opened `opened_at` ms later."""
    return JobRecord(
        id=job_id,
        tenant="acme",
        spec=JobSpec("a task"),
        status=Status.AWAITING_REVIEW,
        conversation_id=job_id,
        due_at=None,
        created_at=NOW,
        updated_at=NOW,
        review=Review(f"review-{job_id}", kind, payload, NOW + opened_at),
    )


def ids(records) -> str:
    return " ".join(record.id for record in records)


JOBS = [
    waiting("c", 30, GREY),
    waiting("e", 5, {"questions": []}, ReviewKind.QUESTIONS),
    waiting("a", 10),
    waiting("b", 20, RED),
    waiting("d", 40, RED),
]


@pytest.mark.parametrize(
    ("order", "expected"), [(Order.WAIT, "e a b c d"), (Order.RED, "b d c a e")]
)
def test_the_order_is_by_the_wait_or_by_the_verdict_first(order, expected):
    decided = replace(JOBS[0], id="x", status=Status.QUEUED, review=None)
    assert ids(sort_waiting([decided, *JOBS], order)) == expected


@pytest.mark.parametrize(
    ("order", "decided", "expected"),
    [
        (Order.WAIT, "a", "b"),
        (Order.WAIT, "d", "e"),
        (Order.RED, "d", "c"),
        (Order.RED, "e", "b"),
    ],
)
@pytest.mark.parametrize("is_listed", [True, False])
def test_the_next_job_follows_the_decided_one_and_the_first_follows_the_last(
    order, decided, expected, is_listed
):
    record = next(job for job in JOBS if job.id == decided)
    others = sort_waiting([job for job in JOBS if is_listed or job.id != decided], order)
    following = next_after(record, others, order)
    assert following is not None
    assert following.id == expected


def test_no_job_follows_the_only_one():
    assert next_after(JOBS[0], [JOBS[0]], Order.WAIT) is None
    assert next_after(JOBS[0], [], Order.RED) is None


def test_a_job_that_another_person_decided_is_followed_by_the_first():
    decided = replace(JOBS[0], status=Status.QUEUED, review=None)
    following = next_after(decided, sort_waiting(JOBS[1:], Order.WAIT), Order.WAIT)
    assert following is not None
    assert following.id == "e"
