"""Who may decide on what: the digest that a decision names, and reviews that take two people."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, TENANT, claimed, decision, review

from jobs.model.credentials import EVERY_SCOPE, Credential
from jobs.model.people import KeyRing
from jobs.model.record import Status
from jobs.model.review import Action, Decision, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.model.spec import JobSpec
from jobs.transitions import lifecycle
from jobs.transitions.expiry import expire
from jobs.transitions.lifecycle import Change, Refusal
from jobs.transitions.reviews import ineligible_approvers

OTHER = "0" * 64


def paused(approvals: int = 2, kind: ReviewKind = ReviewKind.REVIEW):
    spec = JobSpec("add 1 and 1", review=True, approvals=approvals)
    submitted = lifecycle.submit("j1", TENANT, spec, NOW, by="ann", request_id="", key_id="k-ann")
    opened = replace(review(), kind=kind)
    return lifecycle.pause(claimed(submitted.after), NOW, review=opened).after


def said(by: str, action: Action = Action.APPROVE, **fields) -> Decision:
    return Decision("r1", action, by, key_id=fields.pop("key_id", f"k-{by}"), **fields)


def decided(record, given):
    change = lifecycle.decide(record, NOW + 1, decision=given)
    assert isinstance(change, Change), change
    return change


def refused(record, given) -> str:
    refusal = lifecycle.decide(record, NOW + 1, decision=given)
    assert isinstance(refusal, Refusal)
    return refusal.code


@pytest.mark.invariant("J10")
def test_a_decision_counts_for_the_digest_that_it_names_alone():
    shown = digest_review(review())
    assert refused(paused(1), decision(digest=OTHER)) == "stale_review"
    change = decided(paused(1), decision(digest=shown))
    found = change.events[0].data
    assert (found["digest"], found["digest_named"]) == (shown, True)
    assert change.after.decision.digest == shown


def test_two_people_approve():
    first = decided(paused(), said("bob"))
    assert (first.after.status, first.after.version) == (Status.AWAITING_REVIEW, 4)
    assert [(vote.by, vote.at) for vote in first.after.review.approvals] == [("bob", NOW + 1)]
    assert [event.kind for event in first.events] == ["voted"]
    second = decided(first.after, said("cat"))
    assert (second.after.status, second.after.review) == (Status.QUEUED, None)
    assert second.after.decision.by == "bob and cat"
    found = second.events[0]
    assert (found.kind, found.data["by"], found.data["approvals"]) == (
        "decided",
        "cat",
        ["bob", "cat"],
    )


def test_who_brought_the_job_does_not_approve():
    for given in (
        said("ann"),
        said("ann", key_id="a new key"),
        said("renamed", key_id="k-ann"),
    ):
        assert refused(paused(), given) == "own_approval"
    for action in (Action.REVISE, Action.EDIT, Action.REJECT):
        decided(paused(), said("ann", action, feedback="no", code="1"))
    decided(paused(1), said("ann"))


def test_whose_edit_has_run_does_not_approve():
    record = decided(paused(), said("bob", Action.EDIT, code="1")).after
    for number in (2, 3):  # for good: what follows builds on it
        record = lifecycle.pause(claimed(record), NOW, review=review(f"r{number}")).after
        for by in (said("bob"), said("renamed", key_id="k-bob"), said("ann")):
            assert refused(record, replace(by, review_id=f"r{number}")) == "own_approval"
        assert ineligible_approvers(record) >= {"name:ann", "key:k-ann", "name:bob", "key:k-bob"}
        sent_back = replace(said("bob", Action.REVISE, feedback="more"), review_id=f"r{number}")
        decided(record, replace(said("cat"), review_id=f"r{number}"))
        record = decided(record, sent_back).after


def test_each_person_votes_once():
    voted = decided(paused(), said("bob")).after
    for again in (said("bob"), said("bob", key_id="rotated"), said("rob", key_id="k-bob")):
        assert refused(voted, again) == "voted_already"


def test_a_person_votes_once_also_with_a_key_that_was_made_while_the_vote_was_counted():
    voted = decided(paused(), said("phone", person="Ada Lovelace")).after
    laptop = Credential("k-laptop", "laptop", "t", EVERY_SCOPE, person="ADA  lovelace")
    without_phone = KeyRing((laptop,)).same_person(laptop)
    again = lifecycle.decide(voted, NOW, decision=said("laptop"), same_person=without_phone)
    assert (again.code, again.detail.partition(":")[0]) == (
        "voted_already",
        "phone, a key of the same person, has approved already",
    )


def asked():
    waits = paused(approvals=1, kind=ReviewKind.QUESTIONS)
    questions = {"questions": [{"question": "Which?", "default": "Both."}]}
    return replace(waits, review=replace(waits.review, payload=questions))


def test_questions_take_answers_and_nothing_else():
    closed = decided(asked(), said("bob", Action.ANSWER, answers=("This one.",)))
    assert closed.after.decision.answers == ("This one.",)
    assert closed.events[0].data["answers"] == ["This one."]
    assert refused(asked(), said("bob")) == "not_offered"
    assert refused(asked(), said("bob", Action.ANSWER, answers=("One.", "Two."))) == "not_offered"
    assert refused(paused(), said("bob", Action.ANSWER)) == "not_offered"


def test_after_their_time_the_defaults_count():
    spec = JobSpec("t", questions=True, questions_expire_seconds=60, review_expires_seconds=5)
    submitted = lifecycle.submit("j1", TENANT, spec, NOW, by="ann", request_id="", key_id="k")
    opened = replace(review(), kind=ReviewKind.QUESTIONS, payload={"questions": []})
    waits = lifecycle.pause(claimed(submitted.after), NOW, review=opened).after
    assert waits.review.expires_at == NOW + 60_000
    assert isinstance(expire(waits, NOW + 59_999), Refusal)
    change = expire(waits, NOW + 60_000)
    assert isinstance(change, Change)
    assert change.after.status is Status.QUEUED
    assert (change.after.decision.action, change.after.decision.by) == (Action.ANSWER, "expiry")
    assert [event.kind for event in change.events] == ["review_expired", "decided"]
