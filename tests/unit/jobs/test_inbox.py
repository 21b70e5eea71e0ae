"""The order of the jobs that wait for a person, and the job that follows a decision."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW
from support.pages.api_front import a_run

from jobs.model.record import JobRecord, Status
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.view.inbox import Order, WaitingReview, next_after

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


def ids(entries) -> str:
    return " ".join(entry.job_id for entry in entries)


def sort_entries(jobs, order) -> list[WaitingReview]:
    """The entries of jobs as the store has them, in this order."""
    entries = (WaitingReview.read(job.id, WaitingReview.of(job).stored().encode()) for job in jobs)
    return sorted(entries, key=order.position)


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
    assert ids(sort_entries(JOBS, order)) == expected


@pytest.mark.parametrize("order", Order)
def test_a_job_that_an_older_release_paused_is_first_and_values_of_newer_releases_are_ignored(
    order,
):
    unknown, newer = WaitingReview.read("x", None), WaitingReview.read("y", b'[7,1,"new",{}]')
    assert (newer.opened_at, newer.rank, newer.assignee) == (7, 1, "new")
    entries = [*sort_entries(JOBS, order), unknown]
    assert min(entries, key=order.position) == unknown


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
    review = next(WaitingReview.of(job) for job in JOBS if job.id == decided)
    others = sort_entries([job for job in JOBS if is_listed or job.id != decided], order)
    following = next_after(review, others, order)
    assert following is not None
    assert following.job_id == expected


def test_no_job_follows_the_only_one():
    only = WaitingReview.of(JOBS[0])
    assert next_after(only, [only], Order.WAIT) is None
    assert next_after(only, [], Order.RED) is None


def test_a_job_that_another_person_decided_is_followed_by_the_first():
    decided = WaitingReview.of(replace(JOBS[0], status=Status.QUEUED, review=None))
    following = next_after(decided, sort_entries(JOBS[1:], Order.WAIT), Order.WAIT)
    assert following is not None
    assert following.job_id == "e"
