"""The operator's review rules in the spec of a new job. Pure.

A job may be stricter than the rules, never weaker: a weaker value becomes the rules' value.

See ADR 92.
"""

from __future__ import annotations

from dataclasses import replace

from api.http.field_errors import refuse
from api.schemas.problem import FieldError
from jobs.model.people import identity_of
from jobs.model.spec import CODEOWNERS, JobSpec, OnExpiry, ReviewRules
from settings.review_policy import ReviewPolicy


def apply_rules(spec: JobSpec, url: str | None, policy: ReviewPolicy | None) -> JobSpec:
    """The spec with the rules for its labels and its repository, which has this URL. Raises
    RefusedRequest, a 422, if by the rules no person could approve a job without a repository."""
    rules = policy.rules_for(url, spec.labels) if policy else []
    if policy is None or not rules:
        return replace(spec, review_rules=None)
    approvers = tuple(policy.approvers_of(rule) for rule in rules if rule.approvers)
    if url is None and (CODEOWNERS,) in approvers:
        message = "by a rule, only the owners in CODEOWNERS of a repository approve: name its url"
        refuse([FieldError(field="repo", message=message)])
    groups = policy.groups.items() if any(CODEOWNERS in names for names in approvers) else ()
    expiries = [rule.expires_seconds for rule in rules if rule.expires_seconds]
    own_expiry = OnExpiry.STAY if spec.on_expiry is OnExpiry.APPROVE else spec.on_expiry
    own_seconds = [spec.review_expires_seconds] if spec.review_expires_seconds else []
    return replace(
        spec,
        review=True,
        approvals=max(spec.approvals, *(rule.approvals for rule in rules)),
        review_expires_seconds=min(own_seconds + expiries, default=None),
        on_expiry=OnExpiry.REJECT if expiries else own_expiry,
        review_rules=ReviewRules(
            names=tuple(rule.name for rule in rules),
            approvers=approvers,
            owners={identity_of(name): tuple(persons) for name, persons in groups},
            override=all(rule.override for rule in rules),
            remark=any(rule.remark for rule in rules),
        ),
    )
