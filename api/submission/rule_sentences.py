"""Review rules as sentences for people. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from api.quantities import plural, typed_duration
from jobs.model.spec import CODEOWNERS
from settings.review_policy import GROUP, ReviewPolicy, ReviewRule


def describe_rule(rule: ReviewRule, policy: ReviewPolicy) -> str:
    """`Jobs on git.example.org/pay/* with the label risk need 2 approvals by Ada or Bob.`, and a
    sentence for each further demand."""
    conditions = (
        f" on {_any_of(rule.repositories)}" if rule.repositories else "",
        f" with the label {_any_of(rule.labels)}" if rule.labels else "",
    )
    subject = f"Jobs{''.join(conditions)} need" if any(conditions) else "Each job needs"
    approvers = _any_of([_describe_approver(name, policy) for name in rule.approvers])
    persons = approvers or "any person who is not an author"
    sentences = [
        f"{subject} {plural(rule.approvals, 'approval')} by {persons}.",
        "" if rule.override else "No person can approve against the evidence.",
        "Each approval needs a remark." if rule.remark else "",
    ]
    if rule.expires_seconds:
        time = typed_duration(rule.expires_seconds)
        sentences.append(f"A review without a decision is rejected after {time}.")
    return " ".join(filter(None, sentences))


def _describe_approver(name: str, policy: ReviewPolicy) -> str:
    if name == CODEOWNERS:
        return "a person who owns all changed files (CODEOWNERS)"
    if not name.startswith(GROUP):
        return name
    group = name.removeprefix(GROUP)
    return f"the group {group} ({', '.join(policy.groups.get(group, ())) or 'no person'})"


def _any_of(names: Iterable[str]) -> str:
    listed: Sequence[str] = [*names]
    return " or ".join(filter(None, (", ".join(listed[:-1]), *listed[-1:])))
