"""Decisions: a person's answer to an open Review, and the number of approvals that it needs. Pure.

If a Review needs two approvals (four eyes), or a rule of the operator applies to it
(`jobs.transitions.review_rules`), each person has one vote, and the authors have none.
The authors are the persons who submitted the job or an earlier job of its work, sent it a message,
or edited its code. `jobs.model.people` says which keys count as one person. Such a Review cannot
be delegated to the critic. A person can take back their vote while another vote is missing. Every
other answer closes the Review at once.

An approval against the evidence (`jobs.view.verdict`) has to be an override with a remark.

See ADR 66.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any, Literal

from jobs.model.credentials import Signer
from jobs.model.events import NewEvent
from jobs.model.people import MADE_FOR_ANOTHER, person_key
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Approval, Decision, Review, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.model.visibility import has_visible_text
from jobs.transitions import upgrade
from jobs.transitions.change import Change, Refusal, end, next_version, queued_fields
from jobs.transitions.review_rules import (
    list_named_approvers,
    needs_other_persons,
    refuse_by_rules,
    rules_of,
)
from jobs.view.verdict import Verdict, verdict_of_review

ACTIONS: Mapping[ReviewKind, Collection[Action]] = {
    ReviewKind.REVIEW: tuple(action for action in Action if action is not Action.ANSWER),
    ReviewKind.QUESTIONS: (Action.ANSWER, Action.REJECT),
    ReviewKind.UPGRADE: tuple(upgrade.CHOICES),
}
"""The possible decisions on each kind of review."""
_MADE_FOR_ANOTHER = (
    "such a review takes an approval only by a key that its person or the operator's first key made"
)
_FIRST_KEY_EDITS = (
    "an edit makes its key an author, and no key that the first key has made may approve the work "
    "of the first key: edit with a person's key"
)
_VOTED = "approved already: another person has to approve, too"
_REMARK_NEEDED = "an override needs a remark: why is the work approved against its evidence?"


def approvals_needed(record: JobRecord, review: Review) -> int:
    """The number of approvals that the review needs."""
    return record.spec.approvals if review.kind is ReviewKind.REVIEW else 1


def offered_actions(
    record: JobRecord, review: Review, *, person_delivers: bool
) -> tuple[Action, ...]:
    """The possible decisions on the open review. `person_delivers`: only a person's approval lets a
    change leave the deployment, so the critic does not decide on a job that delivers."""
    actions = tuple(ACTIONS[review.kind])
    if review.kind is not ReviewKind.REVIEW:
        return actions
    left_out = set() if review.approvals else {Action.WITHDRAW}
    if needs_other_persons(record, review) or (person_delivers and record.spec.deliver):
        left_out.add(Action.DELEGATE)
    return tuple(action for action in actions if action not in left_out)


def decide(
    record: JobRecord,
    now: int,
    *,
    decision: Decision,
    same_person: Mapping[str, str] | None = None,
) -> Change | Refusal:
    """Apply a Decision once, to the Review that it names, while the Review is open (J10).

    If the job needs two approvals, the Review keeps the first approval and stays open.
    `same_person`: the identity keys that count as the person who decides, with the reasons
    (`KeyRing.same_person`); None: the identity keys of the decision's own key and person.
    """
    review = record.review
    if record.status is not Status.AWAITING_REVIEW or review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    review_digest, verdict = digest_review(review), verdict_of_review(review)
    if same_person is None:
        same_person = own_identity_keys(_signer(decision), decision.person)
    refusal = (
        _check_target(review, review_digest, decision)
        or _check_vote(record, review, decision, same_person)
        or _check_override(decision, verdict)
        or _check_remark(record, review, decision)
    )
    if refusal is not None:
        return refusal
    digest_named = bool(decision.digest)
    is_override = _needs_override(decision, verdict)
    decision = replace(decision, digest=review_digest, override=is_override)
    data = _decision_data(decision, verdict, digest_named=digest_named)
    if (rules := rules_of(record, review)) is not None:
        data["rules"] = list(rules.names)
    approvals = review.approvals
    if decision.action is Action.WITHDRAW:
        approvals = tuple(vote for vote in approvals if not _is_vote_of(vote, decision))
        return _change_votes("vote_withdrawn", record, now, review, approvals, data)
    if decision.action is Action.APPROVE:
        vote = Approval(decision.by, decision.key_id, now, is_override, decision.person)
        approvals = (*approvals, vote)
        if len(approvals) < approvals_needed(record, review):
            return _change_votes("voted", record, now, review, approvals, data)
    return _close(record, now, review, decision, approvals, data)


def own_identity_keys(signer: Signer, person: str) -> Mapping[str, str]:
    """The identity keys of the signer's own key and person, in the form of
    `KeyRing.same_person`."""
    return dict.fromkeys((*signer.identity_keys, person_key(person or signer.name)), "")


def assign(
    record: JobRecord, now: int, *, assignee: str, signed: Mapping[str, str]
) -> Change | Refusal:
    """Record the person who looks after the reviews of the job; '': no person. `signed`: the key
    that acts, as `by`, `key_id` and `person`."""
    if (review := record.review) is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    data = {"review_id": review.id, **signed, "assignee": assignee}
    event = NewEvent(f"review_assigned:{record.version}", "review_assigned", data)
    return Change(next_version(record, now, assignee=assignee), (event,))


def _check_target(review: Review, review_digest: str, decision: Decision) -> Refusal | None:
    """The refusal of a Decision on something other than the open Review."""
    status = Status.AWAITING_REVIEW
    if decision.review_id != review.id:
        return Refusal("stale_review", f"the open review is {review.id}", status)
    if decision.digest and decision.digest != review_digest:
        detail = "code, output or artifacts differ from those that the decision names"
        return Refusal("stale_review", detail, status)
    if decision.action not in ACTIONS[review.kind]:
        detail = f"a review of kind {review.kind} takes {', '.join(ACTIONS[review.kind])}"
        return Refusal("not_offered", detail, status)
    if len(decision.answers) > (question_count := len(review.payload.get("questions", ()))):
        detail = f"there are {question_count} questions, and {len(decision.answers)} answers"
        return Refusal("not_offered", detail, status)
    return None


def _needs_override(decision: Decision, verdict: Verdict | None) -> bool:
    """Whether the Decision approves work against its evidence."""
    is_approval = decision.action is Action.APPROVE
    return is_approval and verdict is not None and verdict.needs_override


def _check_override(decision: Decision, verdict: Verdict | None) -> Refusal | None:
    """The refusal of an approval against the evidence that is not marked as an override, and of an
    override without a remark."""
    if decision.override and not has_visible_text(decision.feedback):
        return Refusal("remark_needed", _REMARK_NEEDED, Status.AWAITING_REVIEW)
    if verdict is None or decision.override or not _needs_override(decision, verdict):
        return None
    return Refusal("override_needed", verdict.reason, Status.AWAITING_REVIEW)


def _check_remark(record: JobRecord, review: Review, decision: Decision) -> Refusal | None:
    """The refusal of an approval without the remark that a rule of the operator requires."""
    rules = rules_of(record, review)
    is_approval = decision.action is Action.APPROVE
    if rules is None or not rules.remark or not is_approval or has_visible_text(decision.feedback):
        return None
    detail = f"by {rules}, each approval needs a remark"
    return Refusal("remark_needed", detail, Status.AWAITING_REVIEW)


def _is_vote_of(vote: Approval, decision: Decision) -> bool:
    """Whether the person who decides gave this vote, with any of their keys."""
    return person_key(vote.person or vote.by) == person_key(decision.person or decision.by)


def _check_vote(
    record: JobRecord, review: Review, decision: Decision, same_person: Mapping[str, str]
) -> Refusal | None:
    """The refusal of an approval that does not count, and of the withdrawal of an approval that
    the person has not given."""
    if decision.action is Action.WITHDRAW:
        if any(_is_vote_of(vote, decision) for vote in review.approvals):
            return None
        detail = f"{decision.by} has no approval on this review that could be withdrawn"
        return Refusal("not_offered", detail, Status.AWAITING_REVIEW)
    if not needs_other_persons(record, review):
        return None
    if decision.action is Action.DELEGATE:
        detail = "the job needs the approval of other persons, which the critic cannot give"
        return Refusal("not_offered", detail, Status.AWAITING_REVIEW)
    if decision.action is Action.EDIT and _signer(decision).is_first_key:
        return Refusal("not_offered", _FIRST_KEY_EDITS, Status.AWAITING_REVIEW)
    if decision.action is not Action.APPROVE:
        return None
    return vote_refusal(record, review, decision.by, same_person)


def vote_refusal(
    record: JobRecord, review: Review, name: str, same_person: Mapping[str, str]
) -> Refusal | None:
    """Why an approval of the job's open review by the key `name` would not count; None: it counts.
    `same_person`: see `decide`."""
    if not needs_other_persons(record, review):
        return None
    if MADE_FOR_ANOTHER in same_person:
        detail = f"{same_person[MADE_FOR_ANOTHER]}: {_MADE_FOR_ANOTHER}"
        return Refusal("own_approval", detail, Status.AWAITING_REVIEW)
    count = approvals_needed(record, review)
    remedy = {1: "another person has", 2: "two others have"}.get(count, f"{count} others have")
    contributed = (
        "submitted an earlier job of this work, sent a message to its models or edited the code: "
        f"{remedy} to approve it"
    )
    for signers, deed in (
        ((_submitter(record),), f"submitted this job: {remedy} to approve it"),
        (record.authors, contributed),
    ):
        for signer in signers:
            marks = signer.identity_keys & same_person.keys()
            if marks:
                subject = _subject(name, signer, _reason_of(marks, same_person))
                return Refusal("own_approval", f"{subject} {deed}", Status.AWAITING_REVIEW)
    if voter := find_voter(review, name, same_person):
        return Refusal("voted_already", f"{voter} {_VOTED}", Status.AWAITING_REVIEW)
    return refuse_by_rules(record, review, same_person.keys())


def find_voter(review: Review, name: str, same_person: Mapping[str, str]) -> str | None:
    """The subject of a sentence about an approval of the open review that counts as an approval by
    the person of the key `name`; None: there is no such approval. `same_person`: see `decide`."""
    for vote in review.approvals:
        voter = Signer(vote.by, vote.key_id)
        # The person, too: the vote may be by a key that was made after the keys were read.
        marks = own_identity_keys(voter, vote.person).keys() & same_person.keys()
        if marks:
            return _subject(name, voter, _reason_of(marks, same_person))
    return None


def _reason_of(marks: Collection[str], same_person: Mapping[str, str]) -> str:
    """The reason why these identity keys count as the person; '': they are the person's own."""
    return next(filter(None, (same_person[mark] for mark in marks)), "")


def _subject(name: str, signer: Signer, reason: str) -> str:
    """The subject of a sentence: the signer that counts as the person of the key `name`."""
    if reason:
        return f"{reason}, so {name} counts as {signer.name}, who"
    if signer.name.lower() == name.lower():
        return "you"
    return f"you, with the key {signer.name},"


def list_authors(record: JobRecord) -> tuple[Signer, ...]:
    """The authors of the work, each once."""
    return tuple(dict.fromkeys((_submitter(record), *record.authors)))


def _submitter(record: JobRecord) -> Signer:
    return Signer(record.submitted_by, record.key_id)


def _signer(decision: Decision) -> Signer:
    return Signer(decision.by, decision.key_id)


def ineligible_approvers(record: JobRecord) -> frozenset[str]:
    """The identity keys of all persons and keys that may not approve the open review, and the marks
    of the persons who may if the rules name them (`list_named_approvers`)."""
    review = record.review
    if review is None or not needs_other_persons(record, review):
        return frozenset()
    signers = (*list_authors(record), *_voters(review))
    identity_keys = (mark for signer in signers for mark in signer.identity_keys)
    approver_marks = list_named_approvers(record, review)
    return frozenset({MADE_FOR_ANOTHER, *identity_keys, *approver_marks})


def _voters(review: Review) -> tuple[Signer, ...]:
    return tuple(Signer(vote.by, vote.key_id) for vote in review.approvals)


def _change_votes(
    kind: Literal["voted", "vote_withdrawn"],
    record: JobRecord,
    now: int,
    review: Review,
    approvals: tuple[Approval, ...],
    data: dict[str, Any],
) -> Change:
    """Keep the Review open, with these approvals. `data`: see `_decision_data`."""
    data = {
        **data,
        "approvals": len(approvals),
        "approvals_needed": approvals_needed(record, review),
    }
    # Votes can be withdrawn and given again, so only the version makes the key unique.
    event = NewEvent(f"{kind}:{record.version}", kind, data)
    open_review = replace(review, approvals=approvals)
    return Change(next_version(record, now, review=open_review), (event,))


def _close(
    record: JobRecord,
    now: int,
    review: Review,
    decision: Decision,
    approvals: tuple[Approval, ...],
    data: dict[str, Any],
) -> Change:
    """Close the Review: the job ends, or a worker continues it. `data`: see `_decision_data`."""
    data = {
        **data,
        "action": decision.action,
        "approvals": [_approver(vote) for vote in approvals],
    }
    if decision.action is Action.ANSWER:
        data["answers"] = list(decision.answers)
    if decision.files:
        data["files"] = dict(decision.files)
    if decision.comments:
        data["comments"] = [asdict(comment) for comment in decision.comments]
    events = [NewEvent(f"decided:{record.epoch}", "decided", data)]
    upgrades = review.kind is ReviewKind.UPGRADE
    if upgrades:
        closed = upgrade.apply_decision(record, decision)
        events += upgrade.decision_events(record, decision)
    else:
        closed = replace(
            record,
            review=None,
            decision=_name_approvers(decision, approvals),
            decided_epoch=record.epoch,
        )
        closed = _add_editor(closed, decision)
    if decision.action is Action.REJECT:
        reason = Reason.INCOMPATIBLE if upgrades else Reason.REJECTED
        detail = decision.feedback or f"rejected by {decision.by}"
        change = end(closed, now, Status.FAILED, reason=reason, detail=detail)
        return replace(change, events=(*events, *change.events))
    return Change(next_version(closed, now, **queued_fields(now)), tuple(events))


def _decision_data(
    decision: Decision, verdict: Verdict | None, *, digest_named: bool
) -> dict[str, Any]:
    """The common data of the events of decisions."""
    return {
        "review_id": decision.review_id,
        "by": decision.by,
        "key_id": decision.key_id,
        "person": decision.person,
        "feedback": decision.feedback,
        "override": decision.override,
        "digest": decision.digest,
        "digest_named": digest_named,
        "evidence": verdict.to_data() if verdict else None,
    }


def _add_editor(record: JobRecord, decision: Decision) -> JobRecord:
    """Add the editor to the authors for good, because all later work builds on the edit."""
    editor = _signer(decision)
    if decision.action is not Action.EDIT or editor in record.authors:
        return record
    return replace(record, authors=(*record.authors, editor))


def _name_approvers(decision: Decision, approvals: tuple[Approval, ...]) -> Decision:
    """The Decision for the graph: an approval is signed by all approvers."""
    if decision.action is not Action.APPROVE:
        return decision
    return replace(decision, by=" and ".join(map(_approver, approvals)))


def _approver(vote: Approval) -> str:
    return vote.person or vote.by
