"""The JobSpec of a request, within the operator's settings. Pure.

A spec has the effective values: the request's, else the operator's defaults for new jobs, else the
settings. So a later change of these does not alter a job.
`api.submission.inputs` adds the parts that are stored first: workspace, checks and repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Literal

from api.schemas.checks import VerificationRequest
from api.schemas.fields import RequestModel
from api.schemas.job_defaults import NO_DEFAULTS, JobDefaults
from api.schemas.job_request import ForkRequest, JobRequest, RetryRequest, Terms
from api.schemas.steps import order_of, texts_of
from jobs.budgets import Cap, make_cap
from jobs.model.record import JobRecord
from jobs.model.spec import (
    DEFAULT_TIMEOUT_SECONDS,
    BenchmarkSpec,
    CheckSpec,
    Deliver,
    JobKind,
    JobSpec,
    OnExpiry,
    Pause,
)
from settings.api import ApiSettings

INPUT_FIELDS = frozenset({"checks", "repo", "benchmark"})
"""Fields with bytes, which `api.submission.inputs` stores, and with a type of their own."""
COPIED_FIELDS = (
    JobRequest.model_fields.keys() & {field.name for field in fields(JobSpec)}
) - INPUT_FIELDS
"""Fields that a spec takes from a request."""
INHERITED_FIELDS = frozenset({"deliver", "image", "setup"})
"""Fields that a follow-up inherits, with the repository, if its request does not set them."""
NO_DIGESTS: Mapping[str, str] = MappingProxyType({})
NAMED_CHECKS = 3
"""The checks that the task of a verification names."""


def new_spec(
    request: JobRequest, settings: ApiSettings, defaults: JobDefaults = NO_DEFAULTS
) -> JobSpec:
    """The spec of a new job."""
    values: dict[str, Any] = {name: getattr(request, name) for name in COPIED_FIELDS}
    deliver = request.deliver
    expires = request.questions_expire_seconds or settings.questions_expire_seconds
    values |= {
        "steps": texts_of(request.steps),
        "steps_after": order_of(request.steps),
        "verify": tuple(request.verify),
        "labels": _labels_of(request, defaults),
        "deliver": Deliver(deliver.branch, deliver.pull_request) if deliver else None,
        "questions_expire_seconds": expires if request.questions else None,
    }
    spec = _with_terms(JobSpec(**values), request, Terms.model_fields, settings, defaults)
    if request.benchmark is None:
        return spec
    benchmark = BenchmarkSpec(**request.benchmark.model_dump())
    # exercises ask no person, also if the operator's default is a review
    return replace(spec, kind=JobKind.BENCHMARK, benchmark=benchmark, review=False)


def retry_spec(
    request: RetryRequest,
    earlier: JobSpec,
    settings: ApiSettings,
    defaults: JobDefaults = NO_DEFAULTS,
) -> JobSpec:
    """The spec of a retry: the earlier job's with the terms that the request sets, and with as many
    approvals as the operator requires today. The defaults apply to the terms that are sent as null.
    """
    spec = _with_approvals(earlier, settings)
    changed_terms = request.model_fields_set & Terms.model_fields.keys()
    if not changed_terms:
        return spec
    return _with_terms(spec, request, changed_terms, settings, defaults)


def fork_spec(
    request: ForkRequest,
    earlier: JobRecord,
    settings: ApiSettings,
    defaults: JobDefaults = NO_DEFAULTS,
) -> JobSpec:
    """The spec of a fork: a job with a conversation of its own. The files of a revision contain the
    rebased change already."""
    spec = replace(
        retry_spec(request, earlier.spec, settings, defaults),
        conversation_id=None,
        retry_of=None,
        fork_of=earlier.id,
        rebase=None if request.revision else earlier.spec.rebase,
    )
    return replace(spec, task=request.prompt, steps=(), steps_after=()) if request.prompt else spec


def rebase_spec(earlier: JobSpec, settings: ApiSettings) -> JobSpec:
    """The spec of a rebase: the earlier job's. The request has no terms, so the rebase asks a
    person if the operator requires that for a delivery today."""
    spec = _with_approvals(earlier, settings)
    if not spec.deliver or not settings.deliver_needs_review:
        return spec
    return _without_approval_by_expiry(replace(spec, review=True))


def verification_spec(
    request: VerificationRequest,
    earlier: JobSpec | None,
    workspace: str | None,
    checks: CheckSpec,
    settings: ApiSettings,
    defaults: JobDefaults = NO_DEFAULTS,
) -> JobSpec:
    """The spec of a verification: a job without a model, and without a conversation. Its runs have
    the repository, the dependencies and the image of the `earlier` job that it verifies."""
    names = (*checks.paths, *checks.cases)
    listed = ", ".join(names[:NAMED_CHECKS])
    unlisted = len(names) - NAMED_CHECKS
    seconds = request.timeout_seconds or defaults.timeout_seconds or _default_timeout(settings)
    subject = f" of job {request.job_id}" if request.job_id else ""
    return JobSpec(
        task=f"Verification{subject} by {listed}{f' and {unlisted} more' if unlisted > 0 else ''}",
        workspace=workspace,
        timeout_seconds=seconds,
        priority=request.priority,
        labels=_labels_of(request, defaults),
        kind=JobKind.VERIFICATION,
        checks=checks,
        repo=earlier.repo if earlier else None,
        setup=earlier.setup if earlier else None,
        image=earlier.image if earlier else None,
    )


def spending_limit(spec: JobSpec, settings: ApiSettings) -> Cap:
    """The most that a job may spend: by its own limits, else by the operator's."""
    return make_cap(
        spec.max_cost_usd or settings.max_job_cost_usd, spec.max_tokens or settings.max_job_tokens
    )


def request_digest(request: RequestModel, uploads: Mapping[str, str] = NO_DIGESTS) -> str:
    """The identity of a request: its values in any notation, and the digests of its uploads.

    Default values are left out, so that a release with another field gives an old request the same
    digest. But a null of a follow-up counts if the field would be inherited otherwise.
    """
    files = [f"\n{digest} {path}" for path, digest in sorted(uploads.items())]
    nulls = [
        f"\n{name}: null"
        for name in sorted(INHERITED_FIELDS & request.model_fields_set)
        if getattr(request, name) is None and getattr(request, "conversation_id", None)
    ]
    return _sha256("".join((request.model_dump_json(exclude_defaults=True), *files, *nulls)))


def derived_digest(origin: Literal["retry", "fork"], job_id: str, request: RetryRequest) -> str:
    """The identity of a retry or a fork: its job, and the fields that were sent."""
    sent = request.model_dump_json(exclude_unset=True) if request.model_fields_set else ""
    identity = f"{origin} of {job_id}{sent}"
    return _sha256(identity) if sent else identity


def _with_terms(
    spec: JobSpec,
    terms: Terms,
    names: Iterable[str],
    settings: ApiSettings,
    defaults: JobDefaults,
) -> JobSpec:
    """The spec with the named terms, or with the default of each that is left out or null; and with
    the setting for each term of the spec without a value.

    A model that the request names plays all roles.
    """
    sent = {name for name in terms.model_fields_set if getattr(terms, name) is not None}
    values = {name: getattr(terms, name) for name in names}
    values |= {
        name: default
        for name in values.keys() - sent
        if (default := getattr(defaults, name, None)) is not None
    }
    if "model" in values:
        values["role_models"] = None if "model" in sent else defaults.role_models
    for name, default in _default_terms(settings).items():
        if values.get(name, getattr(spec, name)) is None:
            values[name] = default
    return replace(spec, **values)


def _labels_of(request: JobRequest | VerificationRequest, defaults: JobDefaults) -> tuple[str, ...]:
    """The labels that the request names, each once; the defaults if it leaves them out."""
    is_sent = "labels" in request.model_fields_set
    return tuple(dict.fromkeys(request.labels if is_sent else defaults.labels or ()))


def _default_terms(settings: ApiSettings) -> dict[str, Any]:
    cost = settings.max_job_cost_usd
    return {
        "timeout_seconds": _default_timeout(settings),
        "max_cost_usd": None if cost is None else _decimal_text(cost),
        "max_tokens": settings.max_job_tokens,
        "approvals": settings.review_approvals,
        "pause": Pause(settings.review_pause),
        "review_expires_seconds": settings.review_expires_seconds,
        "on_expiry": OnExpiry(settings.review_on_expiry),
        "review_remind_seconds": settings.review_remind_seconds,
        "review_escalate_seconds": settings.review_escalate_seconds,
    }


def _default_timeout(settings: ApiSettings) -> int:
    return min(DEFAULT_TIMEOUT_SECONDS, settings.max_timeout_seconds)


def _decimal_text(dollars: Decimal) -> str:
    return f"{dollars:f}"


def _with_approvals(spec: JobSpec, settings: ApiSettings) -> JobSpec:
    """The spec with as many approvals as the operator requires today."""
    if spec.approvals >= settings.review_approvals:
        return spec
    return _without_approval_by_expiry(replace(spec, approvals=settings.review_approvals))


def _without_approval_by_expiry(spec: JobSpec) -> JobSpec:
    return replace(spec, on_expiry=OnExpiry.STAY) if spec.on_expiry is OnExpiry.APPROVE else spec


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
