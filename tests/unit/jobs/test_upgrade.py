"""Checkpoints that a worker cannot read: who goes on, when a person is asked, what that does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.jobs.job_examples import NOW, claimed, decision, queued

from jobs.model.codec import read_record, record_fields
from jobs.model.events import Event, current
from jobs.model.graph_format import ANEW, UNSAID, GraphFormat
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, ReviewKind
from jobs.transitions import lifecycle, retry, upgrade
from jobs.transitions.change import Change, Refusal
from jobs.transitions.lifecycle import Policy
from jobs.transitions.upgrade import HINTS_BEFORE_ASKING, abandoned, unread

THEIRS = GraphFormat(9, "9.0.0")
OURS = GraphFormat(2, "0.2.0")
READS = frozenset({1, 2})


def tried(graph: GraphFormat | None = THEIRS, **fields: Any) -> JobRecord:
    """A job that an attempt has left with checkpoints."""
    return replace(queued(), attempts=1, epoch=1, graph=graph, **fields)


def parked(record: JobRecord | None = None) -> JobRecord:
    """A job about which a person is asked."""
    held = claimed(record or tried())
    asked = upgrade.question(held, THEIRS, READS, OURS)
    change = lifecycle.pause(held, NOW, review=asked)
    assert isinstance(change, Change)
    return change.after


def decided(record: JobRecord, action: Action, **fields: Any) -> Change | Refusal:
    assert record.review is not None
    return lifecycle.decide(record, NOW, decision=decision(record.review.id, action, **fields))


@pytest.mark.parametrize(
    ("record", "found"),
    [
        (queued(), None),
        (claimed(queued()), None),
        (tried(None), UNSAID),
        (claimed(tried(None)), UNSAID),
        (replace(queued(), inherits="j0"), UNSAID),
        (tried(), THEIRS),
        (claimed(tried()), THEIRS),
        (tried(ANEW), None),
    ],
)
def test_what_has_to_be_read_to_go_on(record: JobRecord, found: GraphFormat | None) -> None:
    assert record.checkpointed == found
    assert unread(record, READS) == (found if found == THEIRS else None)
    assert unread(record, [7]) == found


def test_a_worker_claims_only_what_it_reads() -> None:
    def claim(record: JobRecord, reads: Any) -> Change | Refusal:
        return lifecycle.claim(record, NOW, worker="w", policy=Policy(), reads=reads)

    refused = claim(tried(), READS)
    assert isinstance(refused, Refusal)
    assert (refused.code, "9 9.0.0" in refused.detail) == ("unreadable", True)
    for record, reads in ((tried(), [9]), (tried(OURS), READS), (tried(), None), (queued(), [])):
        assert isinstance(claim(record, reads), Change)


def test_a_job_is_abandoned_when_nobody_reads_it_and_nobody_has_come() -> None:
    able, unable = {"graph": {"reads": [2, 9]}}, {"graph": {"reads": [1, 2]}}
    waited = tried(hints=HINTS_BEFORE_ASKING)
    assert abandoned(waited, [unable, {}])
    assert abandoned(waited, [])
    assert not abandoned(waited, [unable, able])
    assert not abandoned(replace(waited, hints=HINTS_BEFORE_ASKING - 1), [unable])
    # a worker of a release that announces nothing reads what names no format
    assert not abandoned(replace(waited, graph=None), [{}])


@pytest.mark.parametrize("crashes", [0, 1])
def test_a_job_is_hinted_for_as_long_as_a_worker_takes_to_be_replaced(crashes: int) -> None:
    record = tried(crashes=crashes, hints=1, due_at=NOW)
    at = NOW
    while not abandoned(record, []):
        at = record.due_at
        change = lifecycle.hint(record, at)
        assert isinstance(change, Change)
        record = change.after
    assert 10_000 < at - NOW < 20_000


def test_the_question_says_what_there_is_what_runs_and_what_to_do() -> None:
    review = parked().review
    assert review is not None
    assert review.kind is ReviewKind.UPGRADE
    reason = review.payload["reason"]
    assert "is in graph format 9, by Fettle 9.0.0. Fettle 0.2.0 reads formats 1 and 2" in reason
    assert "run a worker of Fettle 9.0.0" in reason
    assert review.payload["found"] == {"format": 9, "release": "9.0.0"}
    assert list(review.payload["choices"]) == ["approve", "delegate", "reject"]
    unsaid = upgrade.question(claimed(tried()), UNSAID, [2], OURS).payload["reason"]
    assert "is in graph format 1. Fettle 0.2.0 reads format 2," in unsaid
    assert "run a worker that reads it" in unsaid


def test_what_was_decided_before_is_kept_for_the_graph() -> None:
    earlier = decision("gate-1", Action.APPROVE)
    record = parked(tried(decision=earlier, decided_epoch=1))
    assert record.decision == earlier
    left = decided(record, Action.DELEGATE)
    assert isinstance(left, Change)
    assert (left.after.status, left.after.decision) == (Status.QUEUED, earlier)
    assert (left.after.graph, left.after.review) == (THEIRS, None)
    assert not claimed(left.after).resumes_pause  # its first attempt only asked
    assert [event.kind for event in left.events] == ["decided"]


def test_an_approval_restarts_the_job() -> None:
    record = tried(decision=decision("gate-1"), inherits="j0", ran_ms=5_000, retries=2)
    change = decided(parked(record), Action.APPROVE)
    assert isinstance(change, Change)
    after = change.after
    assert (after.status, after.graph) == (Status.QUEUED, ANEW)
    assert (after.ran_ms, after.retries) == (0, 0)
    assert (after.decision, after.inherits, after.checkpointed) == (None, None, None)
    assert [event.kind for event in change.events] == ["decided", "begun_anew"]
    assert change.events[1].data == {"by": "bob", "format": 9}


def test_to_reject_is_to_end_it_as_incompatible() -> None:
    change = decided(parked(), Action.REJECT)
    assert isinstance(change, Change)
    assert (change.after.status, change.after.reason) == (Status.FAILED, Reason.INCOMPATIBLE)
    assert [event.kind for event in change.events] == ["decided", "failed"]
    heir = retry.retry_as_new_job(change.after, [], "j2", NOW, by="ann")
    assert isinstance(heir, Change)
    assert heir.after.inherits is None


@pytest.mark.parametrize("action", [Action.REVISE, Action.EDIT])
def test_it_takes_nothing_that_is_for_the_graph(action: Action) -> None:
    refused = decided(parked(), action)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.status) == ("not_offered", Status.AWAITING_REVIEW)


def test_only_what_was_made_since_the_restart_counts() -> None:
    def events(*kinds: str) -> list[Event]:
        return [Event(place, NOW, kind, {}) for place, kind in enumerate(kinds, start=1)]

    shown = events("submitted", "planned", "begun_anew", "planned", "begun_anew", "started")
    assert [event.seq for event in current(shown)] == [6]
    assert current(shown[:2]) == shown[:2]


def test_a_heir_goes_on_in_its_parents_format_or_begins() -> None:
    ended = lifecycle.cancel(tried(), NOW, by="ann")
    assert isinstance(ended, Change)
    heir = retry.retry_as_new_job(ended.after, [], "j2", NOW, by="ann")
    assert isinstance(heir, Change)
    assert (heir.after.inherits, heir.after.graph) == ("j1", THEIRS)
    heir = retry.retry_as_new_job(replace(ended.after, graph=ANEW), [], "j2", NOW, by="ann")
    assert isinstance(heir, Change)
    assert (heir.after.inherits, heir.after.graph) == (None, None)


def test_records_of_other_releases_are_read_past_what_is_not_known() -> None:
    fields = record_fields(tried(), new=True)
    older = {name: value for name, value in fields.items() if name != "graph"}
    assert read_record(older).graph is None
    state = fields["state"]
    newer = {**fields, "state": state[:-1] + ',"colour":"red"}', "mood": "good"}
    assert read_record(newer) == tried()
