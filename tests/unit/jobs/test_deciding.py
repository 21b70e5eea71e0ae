"""Permission to decide: the digest that a decision names, and reviews that need two people."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.jobs.job_examples import NOW, TENANT, claimed, decision, review

from jobs.model.credentials import EVERY_SCOPE, Credential
from jobs.model.events import Event
from jobs.model.people import KeyRing
from jobs.model.record import Status
from jobs.model.review import Action, Decision, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.model.spec import JobSpec, OnExpiry, ReviewRules
from jobs.transitions import lifecycle, retry
from jobs.transitions.expiry import expire
from jobs.transitions.lifecycle import Change, Refusal
from jobs.transitions.reviews import ineligible_approvers, offered_actions

OTHER = "0" * 64


def paused(
    approvals: int = 2, kind: ReviewKind = ReviewKind.REVIEW, *, unproven: str | None = None
):
    spec = JobSpec("add 1 and 1", review=True, approvals=approvals)
    submitted = lifecycle.submit("j1", TENANT, spec, NOW, by="ann", request_id="", key_id="k-ann")
    opened = replace(review(unproven=unproven), kind=kind)
    return lifecycle.pause(claimed(submitted.after), NOW, review=opened).after


def decision_by(by: str, action: Action = Action.APPROVE, **fields) -> Decision:
    return Decision("r1", action, by, key_id=fields.pop("key_id", f"k-{by}"), **fields)


def apply(record, person_decision):
    change = lifecycle.decide(record, NOW + 1, decision=person_decision)
    assert isinstance(change, Change), change
    return change


def refusal_code(record, person_decision) -> str:
    refusal = lifecycle.decide(record, NOW + 1, decision=person_decision)
    assert isinstance(refusal, Refusal)
    return refusal.code


@pytest.mark.invariant("J10")
def test_a_decision_applies_only_to_the_digest_that_it_names():
    digest = digest_review(review())
    assert refusal_code(paused(1), decision(digest=OTHER)) == "stale_review"
    change = apply(paused(1), decision(digest=digest))
    event = change.events[0].data
    assert (event["digest"], event["digest_named"]) == (digest, True)
    assert change.after.decision.digest == digest


def test_two_people_approve():
    first = apply(paused(), decision_by("bob"))
    assert (first.after.status, first.after.version) == (Status.AWAITING_REVIEW, 4)
    assert [(vote.by, vote.at) for vote in first.after.review.approvals] == [("bob", NOW + 1)]
    assert [event.kind for event in first.events] == ["voted"]
    second = apply(first.after, decision_by("cat"))
    assert (second.after.status, second.after.review) == (Status.QUEUED, None)
    assert second.after.decision.by == "bob and cat"
    decided = second.events[0]
    assert (decided.kind, decided.data["by"], decided.data["approvals"]) == (
        "decided",
        "cat",
        ["bob", "cat"],
    )


def test_the_submitter_cannot_approve_the_job():
    for person_decision in (
        decision_by("ann"),
        decision_by("ann", key_id="a new key"),
        decision_by("renamed", key_id="k-ann"),
    ):
        assert refusal_code(paused(), person_decision) == "own_approval"
    for action in (Action.REVISE, Action.EDIT, Action.REJECT):
        apply(paused(), decision_by("ann", action, feedback="no", code="1"))
    apply(paused(1), decision_by("ann"))


def test_the_author_of_an_edit_that_ran_cannot_approve():
    record = apply(paused(), decision_by("bob", Action.EDIT, code="1")).after
    for number in (2, 3):  # the failure is final, because later decisions depend on it
        record = lifecycle.pause(claimed(record), NOW, review=review(f"r{number}")).after
        for by in (decision_by("bob"), decision_by("renamed", key_id="k-bob"), decision_by("ann")):
            assert refusal_code(record, replace(by, review_id=f"r{number}")) == "own_approval"
        assert ineligible_approvers(record) >= {"name:ann", "key:k-ann", "name:bob", "key:k-bob"}
        sent_back = replace(
            decision_by("bob", Action.REVISE, feedback="more"), review_id=f"r{number}"
        )
        apply(record, replace(decision_by("cat"), review_id=f"r{number}"))
        record = apply(record, sent_back).after


def test_each_person_votes_once():
    voted = apply(paused(), decision_by("bob")).after
    for again in (
        decision_by("bob"),
        decision_by("bob", key_id="rotated"),
        decision_by("rob", key_id="k-bob"),
    ):
        assert refusal_code(voted, again) == "voted_already"


def test_a_person_votes_once_even_with_a_key_made_during_the_count():
    voted = apply(paused(), decision_by("phone", person="Ada Lovelace")).after
    laptop = Credential("k-laptop", "laptop", "t", EVERY_SCOPE, person="ADA  lovelace")
    without_phone = KeyRing((laptop,)).same_person(laptop)
    again = lifecycle.decide(voted, NOW, decision=decision_by("laptop"), same_person=without_phone)
    assert (again.code, again.detail.partition(":")[0]) == (
        "voted_already",
        "you, with the key phone, approved already",
    )


def paused_for_questions():
    waits = paused(approvals=1, kind=ReviewKind.QUESTIONS)
    questions = {"questions": [{"question": "Which?", "default": "Both."}]}
    return replace(waits, review=replace(waits.review, payload=questions))


def test_questions_accept_only_answers():
    closed = apply(
        paused_for_questions(), decision_by("bob", Action.ANSWER, answers=("This one.",))
    )
    assert closed.after.decision.answers == ("This one.",)
    assert closed.events[0].data["answers"] == ["This one."]
    assert refusal_code(paused_for_questions(), decision_by("bob")) == "not_offered"
    assert (
        refusal_code(
            paused_for_questions(), decision_by("bob", Action.ANSWER, answers=("One.", "Two."))
        )
        == "not_offered"
    )
    assert refusal_code(paused(), decision_by("bob", Action.ANSWER)) == "not_offered"


def test_after_expiry_the_default_answers_apply():
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


def unproven(approvals: int = 1):
    return paused(approvals, unproven="nothing has been run")


@pytest.mark.invariant("J10")
def test_an_approval_against_the_evidence_says_so_and_gives_a_remark():
    refusal = lifecycle.decide(unproven(), NOW, decision=decision_by("bob"))
    assert (refusal.code, refusal.detail) == ("override_needed", "Nothing ran")
    for blank in ("", " \n", "\u200b\u2060", "\x00", "\u3164", "\u2800\ufe0f\U000e0100", "\u034f"):
        marked = decision_by("bob", override=True, feedback=blank)
        assert refusal_code(unproven(), marked) == "remark_needed"
    change = apply(unproven(), decision_by("bob", override=True, feedback="It is a document."))
    assert (change.after.decision.override, change.after.override) == (True, True)
    event = change.events[0].data
    assert (event["override"], event["feedback"]) == (True, "It is a document.")
    assert (event["evidence"]["level"], event["evidence"]["reason"]) == ("grey", "Nothing ran")


def test_other_decisions_against_the_evidence_need_no_override():
    for action in (Action.REVISE, Action.EDIT, Action.REJECT, Action.DELEGATE):
        change = apply(unproven(), decision_by("bob", action, feedback="x", code="1"))
        assert not change.events[0].data["override"]


def test_an_override_of_proven_work_is_recorded_as_an_approval():
    change = apply(paused(1), decision_by("bob", override=True, feedback="sure"))
    assert (change.after.override, change.events[0].data["override"]) == (False, False)


def test_each_of_two_persons_overrides_for_themselves():
    marked = {"override": True, "feedback": "The test is wrong."}
    first = apply(unproven(2), decision_by("bob", **marked)).after
    assert first.review.approvals[0].override
    assert refusal_code(first, decision_by("cat")) == "override_needed"
    assert apply(first, decision_by("cat", **marked)).after.override


def test_a_person_withdraws_their_own_vote_and_may_vote_again():
    voted = apply(paused(), decision_by("phone", person="Ada Lovelace"))
    for attempt in (decision_by("bob", Action.WITHDRAW), decision_by("ann", Action.WITHDRAW)):
        assert refusal_code(voted.after, attempt) == "not_offered"
    withdrawal = decision_by(
        "laptop", Action.WITHDRAW, person="ADA  lovelace", feedback="I was wrong."
    )
    withdrawn = apply(voted.after, withdrawal)
    assert (withdrawn.after.status, withdrawn.after.review.approvals) == (
        Status.AWAITING_REVIEW,
        (),
    )
    (event,) = withdrawn.events
    assert (event.kind, event.data["approvals"]) == ("vote_withdrawn", 0)
    assert event.data["feedback"] == "I was wrong."
    assert refusal_code(withdrawn.after, withdrawal) == "not_offered"
    again = apply(withdrawn.after, decision_by("phone", person="Ada Lovelace"))
    assert again.events[0].key != voted.events[0].key, "an event with the same key is dropped"
    assert apply(again.after, decision_by("bob")).after.status is Status.QUEUED


def test_a_withdrawal_is_offered_as_long_as_there_is_a_vote():
    def offered(record) -> bool:
        actions = offered_actions(record, record.review, person_delivers=False)
        return Action.WITHDRAW in actions

    assert not offered(paused())
    assert offered(apply(paused(), decision_by("bob")).after)


def ruled(*approvers: tuple[str, ...], unproven: str | None = None, owners=(), **fields):
    """A paused job of Ann, with rules for its review."""
    rules = ReviewRules(("payments",), approvers, {"@team": ("Bob", "Cat")}, **fields)
    record = paused(1, unproven=unproven)
    payload = {**record.review.payload, "owners": list(owners)}
    spec = replace(record.spec, review_rules=rules)
    return replace(record, spec=spec, review=replace(record.review, payload=payload))


def refusal_detail(record, person_decision) -> tuple[str, str]:
    refusal = lifecycle.decide(record, NOW + 1, decision=person_decision)
    assert isinstance(refusal, Refusal), refusal
    return refusal.code, refusal.detail


def test_a_rule_excludes_authors_the_critic_and_expiry():
    assert refusal_code(ruled(), decision_by("ann")) == "own_approval"
    assert refusal_code(ruled(), decision_by("bob", Action.DELEGATE)) == "not_offered"
    assert Action.DELEGATE not in offered_actions(ruled(), review(), person_delivers=False)
    edited = apply(ruled(), decision_by("bob", Action.EDIT, code="1")).after
    reopened = replace(ruled(), authors=edited.authors)
    assert refusal_code(reopened, decision_by("bob")) == "own_approval"
    approved = apply(ruled(), decision_by("bob"))
    assert (approved.after.status, approved.events[0].data["rules"]) == (
        Status.QUEUED,
        ["payments"],
    )
    due = replace(ruled().review, expires_at=NOW)
    spec = replace(ruled().spec, on_expiry=OnExpiry.APPROVE)
    stays = expire(replace(ruled(), review=due, spec=spec), NOW)
    assert stays.after.review.expired


def test_only_persons_on_each_list_approve_and_others_still_decide():
    record = ruled(("Bob", "Cat"), ("cat", "Dan"))
    code, detail = refusal_detail(record, decision_by("bob"))
    assert (code, detail) == ("review_rule", "by the rule 'payments', only cat or Dan can approve")
    assert refusal_code(record, decision_by("x", person="Eve")) == "review_rule"
    assert apply(record, decision_by("k", person="CAT")).after.status is Status.QUEUED
    assert apply(record, decision_by("eve", Action.REVISE, feedback="no")).after.decision
    questions = replace(record, review=replace(record.review, kind=ReviewKind.UPGRADE))
    assert apply(questions, decision_by("eve")).after


def test_an_owner_of_all_changed_files_approves():
    owners = [
        {"path": "a.py", "owners": ["@team", "dan@x.org"]},
        {"path": "b.py", "owners": ["@cat", "dan@x.org"]},
    ]
    record = ruled(("CODEOWNERS", "Eve"), owners=owners)
    for name in ("cat", "dan@x.org", "eve"):
        assert apply(record, decision_by(name)).after.status is Status.QUEUED
    code, detail = refusal_detail(record, decision_by("bob"))
    assert code == "review_rule"
    assert "all changed files (a.py: @team dan@x.org; b.py: @cat dan@x.org)" in detail
    unowned = ruled(("CODEOWNERS",), owners=[*owners, {"path": "c", "owners": []}])
    for record in (unowned, ruled(("CODEOWNERS",))):
        assert refusal_code(record, decision_by("cat")) == "review_rule"


def test_a_rule_can_forbid_an_override_and_require_a_remark():
    strict = ruled(unproven="1 test fails", override=False)
    code, detail = refusal_detail(strict, decision_by("bob", override=True, feedback="because"))
    assert code == "review_rule"
    assert detail.startswith("the rule 'payments' allows no approval against the evidence: ")
    assert apply(ruled(override=False), decision_by("bob")).after.status is Status.QUEUED
    remark = ruled(remark=True)
    assert refusal_detail(remark, decision_by("bob", feedback=" "))[0] == "remark_needed"
    assert apply(remark, decision_by("bob", feedback="read it")).after.status is Status.QUEUED


def test_a_retry_under_stricter_terms_does_not_deliver_what_was_approved_before():
    approved = apply(paused(1), decision_by("ann"))
    cancelled = lifecycle.cancel(approved.after, NOW, by="ann").after
    events = [Event(1, NOW, "decided", approved.events[0].data)]

    def inherits(**terms):
        spec = replace(cancelled.spec, **terms)
        change = retry.retry_as_new_job(cancelled, events, "j2", NOW, spec=spec, by="ann")
        return change.after.inherits, "approvals" in change.events[0].data

    assert inherits() == inherits(review_rules=None) == ("j1", True)
    rules = ReviewRules(("payments",), (("Grace",),))
    assert inherits(review_rules=rules) == inherits(approvals=2) == (None, False)
    assert inherits(review_rules=rules, review=False) == ("j1", True)
    undecided = retry.retry_as_new_job(
        cancelled, [], "j2", NOW, spec=replace(cancelled.spec, review_rules=rules), by="ann"
    )
    assert undecided.after.inherits == "j1"
