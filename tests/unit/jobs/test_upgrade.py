"""Checkpoints that a worker cannot read: which worker continues, when a person is asked, and the
effect of the decision.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.jobs.job_examples import NOW, claimed, decision, queued

from jobs.model.record import RESTART, GraphFormat, JobRecord, Reason, Status
from jobs.model.review import Action
from jobs.transitions import lifecycle, retry, upgrade
from jobs.transitions.change import Change, Refusal
from jobs.transitions.lifecycle import Policy
from jobs.transitions.upgrade import HINTS_BEFORE_REVIEW, is_abandoned, unreadable_format

THEIRS = GraphFormat(9, "9.0.0")
OURS = GraphFormat(2, "0.2.0")
READS = frozenset({1, 2})


def tried(graph: GraphFormat | None = THEIRS, **fields: Any) -> JobRecord:
    """A job with checkpoints that an attempt has left."""
    return replace(queued(), attempts=1, epoch=1, graph=graph, **fields)


def parked(record: JobRecord | None = None) -> JobRecord:
    """A parked job with a review of kind `upgrade`."""
    claimed_record = claimed(record or tried())
    open_review = upgrade.upgrade_review(claimed_record, THEIRS, READS, OURS)
    change = lifecycle.pause(claimed_record, NOW, review=open_review)
    assert isinstance(change, Change)
    return change.after


def decided(record: JobRecord, action: Action, **fields: Any) -> Change | Refusal:
    assert record.review is not None
    return lifecycle.decide(record, NOW, decision=decision(record.review.id, action, **fields))


@pytest.mark.parametrize(
    ("record", "expected_format"),
    [
        (queued(), None),
        (claimed(queued()), None),
        (tried(None), None),
        (claimed(tried(None)), None),
        (replace(queued(), inherits="j0"), None),
        (tried(), THEIRS),
        (claimed(tried()), THEIRS),
        (tried(RESTART), None),
    ],
)
def test_the_format_that_a_worker_must_read_to_continue(
    record: JobRecord, expected_format: GraphFormat | None
) -> None:
    assert record.checkpointed == expected_format
    assert unreadable_format(record, READS) == (
        expected_format if expected_format == THEIRS else None
    )
    assert unreadable_format(record, [7]) == expected_format


def test_a_worker_claims_only_jobs_with_a_format_that_it_reads() -> None:
    def claim(record: JobRecord, readable: Any) -> Change | Refusal:
        return lifecycle.claim(record, NOW, worker="w", policy=Policy(), readable=readable)

    refused = claim(tried(), READS)
    assert isinstance(refused, Refusal)
    assert (refused.code, "9 9.0.0" in refused.detail) == ("unreadable", True)
    for record, reads in ((tried(), [9]), (tried(OURS), READS), (tried(), None), (queued(), [])):
        assert isinstance(claim(record, reads), Change)


def test_a_job_is_parked_if_no_running_worker_reads_its_format_for_some_time() -> None:
    able, unable = {"graph": {"reads": [2, 9]}}, {"graph": {"reads": [1, 2]}}
    waited = tried(hints=HINTS_BEFORE_REVIEW)
    assert is_abandoned(waited, [unable])
    assert is_abandoned(waited, [])
    assert not is_abandoned(waited, [unable, able])
    assert not is_abandoned(replace(waited, hints=HINTS_BEFORE_REVIEW - 1), [unable])
    assert not is_abandoned(replace(waited, graph=None), [unable])


def test_an_approval_restarts_the_job() -> None:
    record = tried(decision=decision("gate-1"), inherits="j0", ran_ms=5_000, retries=2)
    change = decided(parked(record), Action.APPROVE)
    assert isinstance(change, Change)
    after = change.after
    assert (after.status, after.graph) == (Status.QUEUED, RESTART)
    assert (after.ran_ms, after.retries) == (0, 0)
    assert (after.decision, after.inherits, after.checkpointed) == (None, None, None)
    assert [event.kind for event in change.events] == ["decided", "begun_anew"]
    assert change.events[1].data == {"by": "bob", "format": 9}


def test_a_rejection_ends_the_job_as_incompatible() -> None:
    change = decided(parked(), Action.REJECT)
    assert isinstance(change, Change)
    assert (change.after.status, change.after.reason) == (Status.FAILED, Reason.INCOMPATIBLE)
    assert [event.kind for event in change.events] == ["decided", "failed"]
    retry_job = retry.retry_as_new_job(change.after, [], "j2", NOW, by="ann")
    assert isinstance(retry_job, Change)
    assert retry_job.after.inherits is None


@pytest.mark.parametrize("action", [Action.REVISE, Action.EDIT])
def test_an_upgrade_review_refuses_decisions_for_the_graph(action: Action) -> None:
    refused = decided(parked(), action)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.status) == ("not_offered", Status.AWAITING_REVIEW)
