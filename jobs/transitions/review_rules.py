"""The operator's review rules: whether they allow a person's approval. Pure.

See ADR 92.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jobs.model.people import identity_of, person_key
from jobs.model.record import JobRecord, Status
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import CODEOWNERS, ReviewRules
from jobs.transitions.change import Refusal
from jobs.view.verdict import verdict_of_review

NAMED = "named"
"""The mark of reviews that only the persons with the mark `named_approver` may approve."""


def named_approver(identity_key: str) -> str:
    """The mark of reviews for which the rules name the person with this identity key."""
    return f"{NAMED}:{identity_key}"


def needs_other_persons(record: JobRecord, review: Review) -> bool:
    """Whether `JobSpec.needs_other_persons` holds for this review."""
    return review.kind is ReviewKind.REVIEW and record.spec.needs_other_persons


def rules_of(record: JobRecord, review: Review) -> ReviewRules | None:
    """The rules for decisions on this review; None if no rule applies."""
    return record.spec.review_rules if review.kind is ReviewKind.REVIEW else None


def refuse_by_rules(
    record: JobRecord, review: Review, identity_keys: Collection[str]
) -> Refusal | None:
    """Why the rules do not allow an approval by the person with these identity keys."""
    if (rules := rules_of(record, review)) is None:
        return None
    verdict = verdict_of_review(review)
    detail = ""
    if verdict and verdict.needs_override and not rules.override:
        detail = f"{rules} allows no approval against the evidence: {verdict.reason}"
    for names in rules.approvers:
        if _list_keys(names, rules, review).isdisjoint(identity_keys):
            detail = f"by {rules}, only {_list_approvers(names, review)} can approve"
    return Refusal("review_rule", detail, Status.AWAITING_REVIEW) if detail else None


def list_named_approvers(record: JobRecord, review: Review) -> set[str]:
    """NAMED, and the mark of each person whom the rules name. Empty if they name no person: then
    the review has to be in the inbox of each person, because one of them has to send it back."""
    rules = rules_of(record, review)
    if rules is None or not rules.approvers:
        return set()
    keys = set.intersection(*(_list_keys(names, rules, review) for names in rules.approvers))
    return {NAMED, *map(named_approver, keys)} if keys else set()


def _list_keys(names: Sequence[str], rules: ReviewRules, review: Review) -> set[str]:
    """The identity keys of all persons in a list of approvers."""
    keys = {person_key(name) for name in names if name != CODEOWNERS}
    if CODEOWNERS not in names:
        return keys
    owners_of_files = []
    for file in review.payload.get("owners", ()):
        groups = (
            rules.owners.get(identity_of(name), (name.lstrip("@"),)) for name in file["owners"]
        )
        owners_of_files.append({person_key(person) for group in groups for person in group})
    return keys | set.intersection(*owners_of_files) if owners_of_files else keys


def _list_approvers(names: Sequence[str], review: Review) -> str:
    listed = [name for name in names if name != CODEOWNERS]
    if CODEOWNERS in names:
        files = [
            f"{file['path']}: {' '.join(file['owners']) or 'no owner'}"
            for file in review.payload.get("owners", ())
        ]
        listed.append(f"a person who owns all changed files ({'; '.join(files) or 'no file'})")
    return " or ".join(listed)
