"""Messages of persons to a job: their senders, their number, and the jobs that inherit them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, claimed, queued, review

from jobs.model.credentials import Signer
from jobs.model.events import Event
from jobs.model.record import Reason, Status
from jobs.model.review import Approval
from jobs.model.spec import JobKind, JobSpec
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.messages import MAX_MESSAGES, add_message, make_entry
from jobs.transitions.retry import retry_as_new_job
from jobs.transitions.reviews import list_authors
from worker.earlier_jobs import words_of_persons

ANN = {"by": "ann", "key_id": "k1", "person": "Ann"}


def sent(record, text="Also sort", signed=ANN, entry=""):
    return add_message(record, NOW, text=text, signed=signed, entry=entry)


def test_a_message_is_one_event_and_makes_its_sender_an_author():
    change = sent(claimed(queued()))
    (event,) = change.events
    assert event.data == {"number": 1, **ANN, "text": "Also sort"}
    assert Signer("ann", "k1") in list_authors(change.after)
    second = sent(change.after, text="And reverse")
    assert (second.events[0].key, second.events[0].data["number"]) == ("message:2", 2)
    assert second.after.authors == change.after.authors


def test_the_submitter_is_an_author_already():
    record = replace(queued(), submitted_by="ann", key_id="k1")
    assert sent(record).after.authors == ()


def test_a_key_names_one_message():
    first = sent(queued(), entry=make_entry("once", "Also sort")).after
    assert sent(first, entry=make_entry("once", "Also sort")).code == "repeated"
    assert sent(first, entry=make_entry("once", "Other")).code == "key_reused"
    assert sent(first, entry=make_entry("other", "Also sort")).after.version == first.version + 1
    ended_job = replace(first, status=Status.SUCCEEDED)
    assert sent(ended_job, entry=make_entry("once", "Also sort")).code == "repeated"


@pytest.mark.parametrize(
    "vote", [Approval("ann", "", 1), Approval("a", "k1", 1), Approval("b", "k3", 1, person="Ann")]
)
def test_a_person_who_has_approved_the_open_review_withdraws_first(vote):
    waiting = replace(queued(), review=replace(review(), approvals=(vote,)))
    assert "withdraw the approval" in sent(waiting).detail
    bob = {"by": "bob", "key_id": "k2", "person": "Bob"}
    assert sent(waiting, signed=bob).after.messages == ("",)


def test_the_number_of_messages_is_bounded():
    record = replace(queued(), messages=("",) * MAX_MESSAGES)
    refused = sent(record)
    assert isinstance(refused, Refusal)
    assert "at most 100 messages" in refused.detail


@pytest.mark.parametrize("kind", [JobKind.VERIFICATION, JobKind.BENCHMARK, JobKind.EXERCISE])
def test_only_a_task_takes_messages(kind):
    refused = sent(replace(queued(), spec=JobSpec("x", kind=kind)))
    assert refused.detail == f"a job of kind {kind} takes no messages: only a task does"


def test_after_the_end_a_follow_up_is_offered():
    refused = sent(replace(queued(), status=Status.FAILED, conversation_id="c" * 20))
    assert (refused.code, "c" * 20 in refused.detail) == ("final", True)


@pytest.mark.parametrize("reason", [Reason.INTERNAL, Reason.REJECTED])
def test_a_retry_has_the_messages_to_its_parent(reason):
    change = sent(claimed(queued()))
    parent = replace(change.after, status=Status.FAILED, reason=reason, lease=None)
    data = change.events[0].data
    events = [
        Event(1, NOW, "started", {"attempt": 1, "worker": "w"}),
        Event(2, NOW, "message_added", data),
        Event(3, NOW, "planned", {"steps": []}),
    ]
    retried = retry_as_new_job(parent, events, "b" * 20, NOW, by="ben")
    kinds = [(event.key.partition(":")[0], event.kind) for event in retried.events]
    assert kinds[:2] == [("submitted", "submitted"), ("message", "message_added")]
    assert retried.events[1].data == data
    assert retried.after.messages == ("",)
    assert Signer("ann", "k1") in list_authors(retried.after)
    assert sent(retried.after).events[0].key == "message:2"


def test_a_follow_up_knows_the_messages():
    data = {"number": 1, **ANN, "text": "Also sort"}
    words = words_of_persons([Event(1, NOW, "message_added", data)])
    assert words == ["ann (message): Also sort"]
