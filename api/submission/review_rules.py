"""The operator's review rules: those in force, and their values in the spec of a new job.

A job may be stricter than the rules, never weaker: a weaker value becomes the rules' value.

See ADR 92, 96.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from api import problems
from api.http.field_errors import refuse
from api.problems import RefusedRequest
from api.quantities import plural
from api.schemas.problem import FieldError
from api.services import Services
from jobs.model.people import identity_of
from jobs.model.spec import (
    CODEOWNERS,
    Evidence,
    JobKind,
    JobSpec,
    OnExpiry,
    ReviewRules,
    repository_name,
)
from settings.review_policy import ReviewPolicy, parse_policy


async def read_policies(services: Services) -> Sequence[ReviewPolicy]:
    """The policies in force: the file's, then the policy that was set at run time. Raises
    RefusedRequest: 500; StoreUnavailable."""
    of_file, stored = services.settings.review_policy, await services.store.review_rules.read()
    policies = [of_file] if of_file else []
    return [*policies, parse_stored(stored.text)] if stored.text else policies


@lru_cache(maxsize=1)
def parse_stored(text: str) -> ReviewPolicy:
    """The policy that was set at run time. Raises RefusedRequest, a 500: no rule is guessed."""
    try:
        return parse_policy(text)
    except ValueError as error:
        raise RefusedRequest(problems.RULES_UNREADABLE, str(error)) from None


def apply_rules(
    spec: JobSpec, url: str | None, policies: Sequence[ReviewPolicy], submitter: str = ""
) -> JobSpec:
    """The spec with the rules for its labels and its repository, which has this URL. No rule
    applies to a verification. The groups of the first policy with CODEOWNERS name the owners: a
    later policy cannot name further persons for a rule of an earlier one. `submitter`: the person
    who submits the job and cannot approve it. Raises RefusedRequest, a 422, if by the rules too few
    persons could approve the job, or if a rule applies to a benchmark: its exercises ask no person.
    """
    repository = repository_name(url) if url else ""
    matching = [
        (policy, rule) for policy in policies for rule in policy.rules_for(repository, spec.labels)
    ]
    rules = [rule for _, rule in matching]
    if not rules or spec.kind is JobKind.VERIFICATION:
        return replace(spec, review_rules=None)
    if spec.kind is JobKind.BENCHMARK:
        names = ", ".join(repr(rule.name) for rule in rules)
        message = f"review rules apply to these jobs ({names}), and exercises ask no person"
        refuse([FieldError(field="benchmark", message=message)])
    approvers = tuple(policy.approvers_of(rule) for policy, rule in matching if rule.approvers)
    if url is None and (CODEOWNERS,) in approvers:
        message = "by a rule, only the owners in CODEOWNERS of a repository approve: name its url"
        refuse([FieldError(field="repo", message=message)])
    with_owners = (policy for policy, rule in matching if CODEOWNERS in policy.approvers_of(rule))
    groups = next((policy.groups for policy in with_owners), {})
    expiries = [rule.expires_seconds for rule in rules if rule.expires_seconds]
    own_expiry = OnExpiry.STAY if spec.on_expiry is OnExpiry.APPROVE else spec.on_expiry
    own_seconds = [spec.review_expires_seconds] if spec.review_expires_seconds else []
    review_rules = ReviewRules(
        names=tuple(rule.name for rule in rules),
        conditions=tuple(rule.condition_of(repository, spec.labels) for rule in rules),
        approvers=approvers,
        owners={identity_of(name): tuple(persons) for name, persons in groups.items()},
        override=all(rule.override for rule in rules),
        remark=any(rule.remark for rule in rules),
    )
    approvals = max(spec.approvals, *(rule.approvals for rule in rules))
    _check_number_of_approvers(review_rules, approvals, submitter)
    return replace(
        spec,
        review=True,
        approvals=approvals,
        # With `evidence: none`, an approval of work that no run has shown to work is no override.
        evidence=spec.evidence if review_rules.override else Evidence.RUN,
        review_expires_seconds=min(own_seconds + expiries, default=None),
        on_expiry=OnExpiry.REJECT if expiries else own_expiry,
        review_rules=review_rules,
    )


def _check_number_of_approvers(rules: ReviewRules, approvals: int, submitter: str) -> None:
    """Raise RefusedRequest, a 422, if fewer persons than approvals are needed are on each list of
    approvers, without the submitter. A list with CODEOWNERS may have any person."""
    lists = [set(map(identity_of, names)) for names in rules.approvers if CODEOWNERS not in names]
    if not lists:
        return
    approvers = set.intersection(*lists)
    if (count := len(approvers - {identity_of(submitter)})) < approvals:
        reason = " beside its submitter" if count < len(approvers) else ""
        message = (
            f"by {rules}, {plural(count, 'person')}{reason} may approve the job, which needs "
            f"{plural(approvals, 'approval')}: ask for fewer approvals, or ask the operator to "
            "name further approvers"
        )
        refuse([FieldError(field="approvals", message=message)])
