"""Decisions: a person's answer to an open Review, and the number of approvals that it needs. Pure.

If a Review needs two approvals (four eyes), each person has one vote, and the authors have none.
The authors are the persons who submitted the job or a job that it retries, and the persons who
edited its code. `jobs.model.people` says which keys count as one person. Such a Review cannot be
delegated to the critic. Every other answer closes the Review at once.

See ADR 66.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from jobs.model.credentials import Signer
from jobs.model.events import NewEvent
from jobs.model.people import MADE_FOR_ANOTHER, person_key
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action, Approval, Decision, Review, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.transitions import upgrade
from jobs.transitions.change import Change, Refusal, end, next_version, queued_fields

ACTIONS: Mapping[ReviewKind, Collection[Action]] = {
    ReviewKind.REVIEW: tuple(action for action in Action if action is not Action.ANSWER),
    ReviewKind.QUESTIONS: (Action.ANSWER, Action.REJECT),
    ReviewKind.UPGRADE: tuple(upgrade.CHOICES),
}
"""The possible decisions on each kind of review."""
_SUBMITTED = "submitted the job: the two approvals that it needs must come from other persons"
_EDITED = (
    "submitted an earlier try or edited the code: the two approvals that the job needs must come "
    "from other persons"
)
_MADE_FOR_ANOTHER = (
    "if two approvals are needed, a key gives one only if its person or the operator's first key "
    "made it"
)
_FIRST_KEY_EDITS = (
    "an edit makes its key an author, and no key that the first key has made may approve the work "
    "of the first key: edit with a person's key"
)
_VOTED = "has approved already: another person's approval is needed"


def approvals_needed(record: JobRecord, review: Review) -> int:
    """The number of approvals that the review needs."""
    return record.spec.approvals if review.kind is ReviewKind.REVIEW else 1


def offered_actions(
    record: JobRecord, review: Review, *, person_delivers: bool
) -> tuple[Action, ...]:
    """The possible decisions on the open review. `person_delivers`: only a person's approval lets a
    change leave the deployment, so the critic does not decide on a job that delivers."""
    actions = tuple(ACTIONS[review.kind])
    critic_decides = approvals_needed(record, review) == 1 and not (
        person_delivers and record.spec.deliver
    )
    if review.kind is not ReviewKind.REVIEW or critic_decides:
        return actions
    return tuple(action for action in actions if action is not Action.DELEGATE)


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
    (`KeyRing.same_person`); None: the identity keys of the decision's own key.
    """
    review = record.review
    if record.status is not Status.AWAITING_REVIEW or review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    review_digest = digest_review(review)
    if same_person is None:
        same_person = dict.fromkeys(_signer(decision).identity_keys, "")
    refusal = _check_target(review, review_digest, decision) or _check_vote(
        record, review, decision, same_person
    )
    if refusal is not None:
        return refusal
    bound_decision = replace(decision, digest=review_digest)
    approval = Approval(decision.by, decision.key_id, now, decision.override, decision.person)
    approvals = review.approvals
    if decision.action is Action.APPROVE:
        approvals = (*approvals, approval)
        if len(approvals) < approvals_needed(record, review):
            return _add_vote(
                record, now, review, bound_decision, approvals, names_digest=bool(decision.digest)
            )
    return _close(
        record, now, review, bound_decision, approvals, names_digest=bool(decision.digest)
    )


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


def _check_vote(
    record: JobRecord, review: Review, decision: Decision, same_person: Mapping[str, str]
) -> Refusal | None:
    """The refusal of an approval that does not count, if two are needed."""
    if approvals_needed(record, review) < 2:
        return None
    if decision.action is Action.DELEGATE:
        detail = "the job needs the approval of two persons, which the critic cannot give"
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
    if approvals_needed(record, review) < 2:
        return None
    if MADE_FOR_ANOTHER in same_person:
        detail = f"{same_person[MADE_FOR_ANOTHER]}: {_MADE_FOR_ANOTHER}"
        return Refusal("own_approval", detail, Status.AWAITING_REVIEW)
    for code, signers, deed in (
        ("own_approval", (_submitter(record),), _SUBMITTED),
        ("own_approval", record.authors, _EDITED),
        ("voted_already", _voters(review), _VOTED),
    ):
        for signer in signers:
            marks = signer.identity_keys & same_person.keys()
            if marks:
                reason = next(filter(None, (same_person[mark] for mark in marks)), "")
                subject = _subject(name, signer, reason)
                return Refusal(code, f"{subject} {deed}", Status.AWAITING_REVIEW)
    for vote in review.approvals:  # also by a key that was made after the keys were read
        if person_key(vote.person or vote.by) in same_person:
            subject = _subject(name, Signer(vote.by), "")
            return Refusal("voted_already", f"{subject} {_VOTED}", Status.AWAITING_REVIEW)
    return None


def _subject(name: str, signer: Signer, reason: str) -> str:
    """The subject of a sentence: the signer that counts as the person of the key `name`."""
    if reason:
        return f"{reason}, so {name} counts as {signer.name}, who"
    if signer.name.lower() == name.lower():
        return name
    return f"{signer.name}, a key of the same person,"


def list_authors(record: JobRecord) -> tuple[Signer, ...]:
    """The authors of the work, each once."""
    return tuple(dict.fromkeys((_submitter(record), *record.authors)))


def _submitter(record: JobRecord) -> Signer:
    return Signer(record.submitted_by, record.key_id)


def _signer(decision: Decision) -> Signer:
    return Signer(decision.by, decision.key_id)


def ineligible_approvers(record: JobRecord) -> frozenset[str]:
    """The identity keys of all persons and keys that may not approve the open review."""
    review = record.review
    if review is None or approvals_needed(record, review) < 2:
        return frozenset()
    signers = (*list_authors(record), *_voters(review))
    identity_keys = (mark for signer in signers for mark in signer.identity_keys)
    return frozenset({MADE_FOR_ANOTHER, *identity_keys})


def _voters(review: Review) -> tuple[Signer, ...]:
    return tuple(Signer(vote.by, vote.key_id) for vote in review.approvals)


def _add_vote(
    record: JobRecord,
    now: int,
    review: Review,
    decision: Decision,
    approvals: tuple[Approval, ...],
    *,
    names_digest: bool,
) -> Change:
    data = {
        **_decision_data(review, decision, names_digest=names_digest),
        "approvals": len(approvals),
        "approvals_needed": approvals_needed(record, review),
    }
    open_review = replace(review, approvals=approvals)
    event = NewEvent(f"voted:{record.epoch}:{len(approvals)}", "voted", data)
    return Change(next_version(record, now, review=open_review), (event,))


def _close(
    record: JobRecord,
    now: int,
    review: Review,
    decision: Decision,
    approvals: tuple[Approval, ...],
    *,
    names_digest: bool,
) -> Change:
    """Close the Review: the job ends, or a worker continues it."""
    data = {
        **_decision_data(review, decision, names_digest=names_digest),
        "action": decision.action,
        "approvals": [_approver(vote) for vote in approvals],
    }
    if decision.action is Action.ANSWER:
        data["answers"] = list(decision.answers)
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


def _decision_data(review: Review, decision: Decision, *, names_digest: bool) -> dict[str, Any]:
    """The common data of the events of decisions."""
    return {
        "review_id": review.id,
        "by": decision.by,
        "key_id": decision.key_id,
        "person": decision.person,
        "feedback": decision.feedback,
        "override": decision.override,
        "digest": decision.digest,
        "digest_named": names_digest,
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
