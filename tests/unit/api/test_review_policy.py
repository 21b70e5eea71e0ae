"""The review terms of a job: the values of the request, or else the operator's settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.problems import RefusedRequest
from api.schemas.job_defaults import JobDefaults
from api.schemas.job_request import JobRequest, RetryRequest
from api.submission.job_spec import new_spec, rebase_spec, retry_spec
from api.submission.review_rules import apply_rules
from api.submission.rule_sentences import describe_rule
from api.submission.validation import check_job, check_retry
from jobs.model.spec import Deliver, Evidence, JobKind, JobSpec, OnExpiry, Pause
from settings.api import ApiSettings
from settings.review_policy import ReviewPolicy, ReviewRule

DEFAULTS = ApiSettings()


def error_fields(settings: ApiSettings = DEFAULTS, **fields: object) -> list[str]:
    """The fields with an error in a request with these fields."""
    request = JobRequest.model_validate({"task": "x", **fields}, strict=False)
    try:
        check_job(request, 100, settings)
    except RefusedRequest as refused:
        return [error.field for error in refused.more["errors"]]
    return []


def test_by_default_a_review_takes_one_approval_and_never_expires() -> None:
    spec = new_spec(JobRequest(task="x"), DEFAULTS)
    assert (spec.approvals, spec.pause) == (1, Pause.BEFORE_CRITIC)
    assert (spec.review_expires_seconds, spec.on_expiry) == (None, OnExpiry.STAY)
    assert (spec.review_remind_seconds, spec.review_escalate_seconds) == (None, None)


def test_the_operators_settings_are_the_defaults_of_a_request() -> None:
    settings = ApiSettings(
        review_expires_seconds=60,
        review_on_expiry="reject",
        review_pause="every_run",
        review_remind_seconds=10,
    )
    spec = new_spec(JobRequest(task="x", review_expires_seconds=90), settings)
    assert (spec.review_expires_seconds, spec.on_expiry) == (90, OnExpiry.REJECT)
    assert (spec.pause, spec.review_remind_seconds) == (Pause.EVERY_RUN, 10)


def test_contradictory_terms_are_refused() -> None:
    reviewed = {"review": True}
    assert error_fields(**reviewed, on_expiry="reject") == ["on_expiry"]
    approve = {"on_expiry": "approve", "review_expires_seconds": 9}
    assert error_fields(**reviewed, **approve, approvals=2) == ["on_expiry"]
    assert error_fields(**reviewed, on_expiry="stay") == []
    assert error_fields(ApiSettings(review_approvals=2), **reviewed, approvals=1) == ["approvals"]
    assert error_fields(ApiSettings(review_approvals=2)) == []
    settings = ApiSettings(review_on_expiry="approve")
    assert error_fields(settings, **reviewed, approvals=2) == []


def test_a_job_without_a_review_accepts_no_terms_of_reviews() -> None:
    times = {"review_remind_seconds": 9, "review_escalate_seconds": 9}
    terms = {"approvals": 2, "pause": "every_run", "on_expiry": "stay", **times}
    assert error_fields(**terms) == list(terms)
    assert error_fields(**terms, review=True) == error_fields(approvals=None) == []
    assert error_fields(**times, questions=True) == []


def test_the_operator_can_require_a_person_for_each_delivery() -> None:
    required = ApiSettings(deliver_needs_review=True, review_on_expiry="approve")
    delivers = {"repo": {"url": "https://git.example.org/a/b.git"}, "deliver": {}}

    assert error_fields(required, **delivers) == ["review"]
    assert error_fields(required, **delivers, review=True) == ["on_expiry"]
    rejects = {"review": True, "on_expiry": "reject", "review_expires_seconds": 9}
    assert error_fields(required, **delivers, **rejects) == []
    assert error_fields(required) == error_fields(**delivers) == []


def retried(earlier: JobSpec, settings: ApiSettings, **terms: object) -> JobSpec:
    request = RetryRequest(**terms)
    spec = retry_spec(request, earlier, settings)
    check_retry(request, spec, settings)
    return spec


def test_a_retry_follows_the_present_policy() -> None:
    earlier = JobSpec("x", review=True, on_expiry=OnExpiry.APPROVE, deliver=Deliver())
    assert retried(earlier, DEFAULTS) == earlier
    spec = retried(earlier, ApiSettings(review_approvals=2))
    assert (spec.approvals, spec.on_expiry) == (2, OnExpiry.STAY)
    strict = replace(earlier, approvals=2, on_expiry=OnExpiry.REJECT)
    required = ApiSettings(deliver_needs_review=True)
    assert retried(strict, required) == strict
    for spec in (replace(strict, review=False), earlier):
        with pytest.raises(RefusedRequest):
            retried(spec, required)
    assert retried(replace(earlier, deliver=None, review=False), required).deliver is None


def test_a_retry_uses_the_sent_terms_and_keeps_the_other_terms() -> None:
    earlier = JobSpec("x", max_tokens=5, run_seconds=7, timeout_seconds=60)
    settings = ApiSettings(max_job_tokens=100)
    spec = retried(earlier, settings, max_tokens=9, timeout_seconds=None)
    assert (spec.max_tokens, spec.run_seconds, spec.timeout_seconds) == (9, 7, 900)
    with pytest.raises(RefusedRequest, match="at most 100 tokens"):
        retried(earlier, settings, max_tokens=101)
    with pytest.raises(RefusedRequest, match="setup"):
        retried(earlier, settings, setup="make")


def test_a_rebase_needs_a_review_if_the_present_policy_requires_one() -> None:
    required = ApiSettings(deliver_needs_review=True, review_approvals=2)
    earlier = JobSpec("x", on_expiry=OnExpiry.APPROVE, deliver=Deliver())
    spec = rebase_spec(earlier, required)
    assert (spec.review, spec.approvals, spec.on_expiry) == (True, 2, OnExpiry.STAY)
    assert not rebase_spec(replace(earlier, deliver=None), required).review
    assert rebase_spec(earlier, DEFAULTS) == earlier
    single = ApiSettings(deliver_needs_review=True)
    assert rebase_spec(replace(earlier, review=True), single).on_expiry is OnExpiry.STAY
    rejects = replace(earlier, review=True, on_expiry=OnExpiry.REJECT)
    assert rebase_spec(rejects, single) == rejects


URL = "https://git.example.org/payments/core"
POLICY = ReviewPolicy.model_validate(
    {
        "groups": {"leads": ["Ada", "Grace"], "@pay": ["Bob"]},
        "rule": [
            {"name": "all", "remark": True, "expires_seconds": 3600},
            {
                "name": "payments",
                "repositories": ["git.example.org/payments/*"],
                "approvals": 2,
                "approvers": ["group:leads", "CODEOWNERS"],
                "override": False,
            },
            {"name": "owners", "labels": ["owned"], "approvers": ["CODEOWNERS"]},
        ],
    }
)


def test_every_matching_rule_applies_and_the_strictest_value_counts() -> None:
    spec = apply_rules(JobSpec("x", on_expiry=OnExpiry.APPROVE), URL, [POLICY])
    assert (spec.review, spec.approvals) == (True, 2)
    assert (spec.review_expires_seconds, spec.on_expiry) == (3600, OnExpiry.REJECT)
    rules = spec.review_rules
    assert rules is not None
    assert rules.names == ("all", "payments")
    assert rules.conditions == ("each job", "repository git.example.org/payments/*")
    assert rules.approvers == (("Ada", "Grace", "CODEOWNERS"),)
    assert rules.owners == {"leads": ("Ada", "Grace"), "@pay": ("Bob",)}
    assert (rules.override, rules.remark) == (False, True)


def test_a_job_may_be_stricter_than_the_rules_and_no_retry_weaker() -> None:
    strict = JobSpec(
        "x", review=True, approvals=2, review_expires_seconds=60, evidence=Evidence.NONE
    )
    spec = apply_rules(strict, None, [POLICY])
    assert (spec.approvals, spec.review_expires_seconds) == (2, 60)
    assert spec.review_rules is not None
    assert spec.review_rules.owners == {}
    assert spec.evidence is Evidence.NONE, "the rule allows an approval against the evidence"
    without_override = apply_rules(strict, URL, [POLICY])
    assert without_override.evidence is Evidence.RUN
    weakened = retried(spec, DEFAULTS, review=False)
    assert apply_rules(weakened, None, [POLICY]).review
    assert apply_rules(spec, None, []).review_rules is None


def test_a_job_that_no_person_could_approve_is_refused() -> None:
    labelled = JobSpec("x", labels=("owned",))
    with pytest.raises(RefusedRequest) as refused:
        apply_rules(labelled, None, [POLICY])
    assert [error.field for error in refused.value.more["errors"]] == ["repo"]
    assert apply_rules(labelled, URL, [POLICY]).review_rules is not None


def test_a_job_with_fewer_approvers_than_approvals_is_refused() -> None:
    rules = [
        {"name": "a", "approvers": ["Ada", "Bob"]},
        {"name": "b", "labels": ["b"], "approvers": ["bob", "Cat"]},
        {"name": "c", "labels": ["c"], "approvers": ["Dan"]},
    ]
    policy = ReviewPolicy.model_validate({"rule": rules})

    def errors(*labels: str, approvals: int = 1, submitter: str = "") -> list[str]:
        spec = JobSpec("x", labels=labels, approvals=approvals)
        try:
            apply_rules(spec, None, [policy], submitter)
        except RefusedRequest as refused:
            return [f"{error.field}: {error.message}" for error in refused.more["errors"]]
        return []

    assert errors(approvals=2) == errors("b") == []
    (no_person,) = errors("c")
    assert no_person.startswith("approvals: by the rules 'a', 'c', 0 persons may approve the job")
    (one_person,) = errors("b", approvals=2)
    assert "1 person may approve the job, which needs 2 approvals" in one_person
    assert errors(submitter="Bob") == errors("b", submitter="Cat") == []
    (own_work,) = errors("b", submitter="BOB")
    assert "0 persons beside its submitter may approve the job, which needs 1 approval" in own_work


def test_a_later_policy_only_adds_demands() -> None:
    rules = [
        {"name": "risk", "labels": ["risk"], "approvers": ["group:leads"], "approvals": 2},
        {"name": "eve", "approvers": ["Ada", "Grace", "Eve", "CODEOWNERS"]},
    ]
    groups = {"leads": ["Ada", "Eve", "Grace"], "@pay": ["Eve"], "@new": ["Eve"]}
    added = ReviewPolicy.model_validate({"groups": groups, "rule": rules})
    spec = apply_rules(JobSpec("x", labels=("low", "risk")), URL, [POLICY, added])
    in_force = spec.review_rules
    assert in_force is not None
    assert in_force.names == ("all", "payments", "risk", "eve")
    assert in_force.conditions[2:] == ("label risk", "each job")
    assert (spec.approvals, in_force.override, in_force.remark) == (2, False, True)
    first, *_ = in_force.approvers
    assert first == ("Ada", "Grace", "CODEOWNERS"), "a group of the same name changes no rule"
    assert in_force.owners == {"leads": ("Ada", "Grace"), "@pay": ("Bob",)}
    alone = apply_rules(JobSpec("x"), URL, [added]).review_rules
    assert alone is not None
    assert alone.owners["@pay"] == ("Eve",)


def test_a_rule_is_described_in_plain_english() -> None:
    all_jobs, payments, owners = (describe_rule(rule, POLICY) for rule in POLICY.rule)
    assert all_jobs == (
        "Each job needs 1 approval by any person who is not an author. Each approval needs a "
        "remark. A review without a decision is rejected after 1h."
    )
    assert payments == (
        "Jobs on git.example.org/payments/* need 2 approvals by the group leads (Ada, Grace) or a "
        "person who owns all changed files (CODEOWNERS). No person can approve against the "
        "evidence."
    )
    assert owners.startswith("Jobs with the label owned need 1 approval by a person who owns")
    rule = ReviewRule(name="r", repositories=["a.org/x", "b.org/*"], labels=["l", "m", "n"])
    start = "Jobs on a.org/x or b.org/* with the label l, m or n need 1 approval"
    assert describe_rule(rule, POLICY).startswith(start)


def test_no_rule_applies_to_a_verification() -> None:
    spec = JobSpec("x", kind=JobKind.VERIFICATION)
    assert apply_rules(spec, None, [POLICY]) == spec


def test_no_benchmark_is_accepted_to_which_a_rule_applies() -> None:
    """Its exercises would wait for persons."""
    rule = {"name": "all", "labels": ["measured"]}
    policy = ReviewPolicy.model_validate({"rule": [rule]})
    benchmark = JobSpec("x", kind=JobKind.BENCHMARK, labels=("measured",))
    with pytest.raises(RefusedRequest) as refused:
        apply_rules(benchmark, None, [policy])
    assert [error.field for error in refused.value.more["errors"]] == ["benchmark"]
    assert apply_rules(replace(benchmark, labels=()), None, [policy]).review is False


def test_a_default_review_does_not_apply_to_a_benchmark() -> None:
    benchmark = {"set": "custom"}
    request = JobRequest.model_validate({"task": "x", "model": "groq:m", "benchmark": benchmark})
    spec = new_spec(request, DEFAULTS, JobDefaults(review=True))
    assert (spec.kind, spec.review) == (JobKind.BENCHMARK, False)
    assert new_spec(JobRequest(task="x"), DEFAULTS, JobDefaults(review=True)).review
