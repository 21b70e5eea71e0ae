"""From a validated body to a spec, with the limits of the operator's settings."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from types import MappingProxyType
from typing import Any

from api import problems
from api.http.body import OF_BODIES, too_large
from api.problems import Refused
from api.schemas.fields import KeptFile, RequestModel
from api.schemas.job_request import JobRequest, RetryRequest, Terms
from api.schemas.problem import FieldError
from api.submission import checks, repo_errors
from api.submission.paths import path_errors
from api.submission.review_policy import (
    delivery_errors,
    policy,
    policy_errors,
    questions_expire,
    unreviewed_errors,
)
from jobs.budgets import Cap, cap
from jobs.model.codec import read_spec
from jobs.model.spec import CheckSpec, JobSpec, OnExpiry, Repo
from settings.api import ApiSettings

DEFAULT_TIMEOUT_SECONDS = 900
AS_ASKED = frozenset(JobRequest.model_fields) & {field.name for field in fields(JobSpec)}
"""Fields that a request and a spec share."""
AUTO = "auto"
MAXIMA: Mapping[str, str] = MappingProxyType(
    {
        "timeout_seconds": "max_timeout_seconds",
        "run_seconds": "max_run_seconds",
        "run_memory_bytes": "max_run_memory_bytes",
        "max_steps": "max_job_steps",
    }
)
"""Fields, and the settings that bound them."""
NO_FILES: Mapping[str, bytes] = MappingProxyType({})
NO_DIGESTS: Mapping[str, str] = MappingProxyType({})


def check(
    asked: JobRequest,
    size: int,
    settings: ApiSettings,
    uploads: Mapping[str, bytes] = NO_FILES,
    bundle: bytes | None = None,
) -> None:
    """Raise Refused: 422 that names each field and its limit, or 413.

    `size` is the JSON's size on the wire. Without its files it may have `max_body_bytes`. `uploads`
    are files that came beside it, and `bundle` a repository.
    """
    rest = len(asked.model_dump_json(exclude={"files"})) if asked.files else size
    if rest > settings.max_body_bytes:
        raise too_large(settings.max_body_bytes, "the body without its files", OF_BODIES)
    refuse(_errors(asked, settings, uploads, bundle))


def refuse(field_errors: Iterable[FieldError]) -> None:
    """Raise Refused, a 422, if there are errors."""
    if errors := list(field_errors):
        detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
        raise Refused(problems.INVALID, detail, {"errors": errors[:50]})


def to_spec(
    asked: JobRequest,
    workspace: str | None,
    settings: ApiSettings,
    kept: CheckSpec | None = None,
    repo: Repo | None = None,
) -> JobSpec:
    """The spec; `workspace` is the digest of its files' manifest, `kept` its stored checks, `repo`
    its repository with a stored bundle."""
    same = {name: getattr(asked, name) for name in AS_ASKED}
    own = {
        "workspace": workspace,
        "checks": kept,
        "repo": repo,
        "deliver": asked.deliver and asked.deliver.model_dump(),
        "labels": tuple(dict.fromkeys(asked.labels)),
        "questions_expire_seconds": questions_expire(asked, settings),
    }
    return read_spec({**same, **own, **terms(asked, settings)})


def retried(asked: RetryRequest, parent: JobSpec, settings: ApiSettings) -> JobSpec:
    """The spec of a retry: its parent's, but for the terms that were sent, within the operator's
    present policy of reviews. Raises Refused: 422."""
    if not asked.model_fields_set:
        return within_policy(parent, settings)
    parent = _with_approvals(parent, settings)
    sent = {name: getattr(asked, name) for name in asked.model_fields_set}
    meant = Terms(**{name: getattr(parent, name) for name in Terms.model_fields} | sent)
    errors = [
        *_term_errors(meant, settings, sent, questions=parent.questions),
        *delivery_errors(parent.deliver, meant, settings),
    ]
    lost = repo_errors.setup_errors(meant) if parent.repo is None else ()
    refuse([*errors, *lost])
    return replace(parent, **terms(meant, settings))


def within_policy(spec: JobSpec, settings: ApiSettings) -> JobSpec:
    """The spec of an earlier job for a new job: with as many approvals as the operator requires by
    now. Raises Refused: 422, if it would deliver without a person's approval that is required."""
    refuse(delivery_errors(spec.deliver, spec, settings))
    return _with_approvals(spec, settings)


def rebased(parent: JobSpec, settings: ApiSettings) -> JobSpec:
    """The spec of a rebase, within the operator's present policy of reviews. Its request has no
    terms, so the rebase asks a person if a delivery needs one by now."""
    spec = _with_approvals(parent, settings)
    if not any(delivery_errors(spec.deliver, spec, settings)):
        return spec
    expires = OnExpiry.STAY if spec.on_expiry is OnExpiry.APPROVE else spec.on_expiry
    return replace(spec, review=True, on_expiry=expires)


def _with_approvals(spec: JobSpec, settings: ApiSettings) -> JobSpec:
    least = settings.review_approvals
    if spec.approvals >= least:
        return spec
    expires = OnExpiry.STAY if spec.on_expiry is OnExpiry.APPROVE else spec.on_expiry
    return replace(spec, approvals=least, on_expiry=expires)


def terms(asked: Terms, settings: ApiSettings) -> dict[str, Any]:
    """The fields of a JobSpec that a retry may change, within the operator's settings."""
    limits = {
        "timeout_seconds": timeout_of(asked.timeout_seconds, settings),
        "max_cost_usd": asked.max_cost_usd or _text(settings.max_job_cost_usd),
        "max_tokens": asked.max_tokens or settings.max_job_tokens,
    }
    same = {name: getattr(asked, name) for name in Terms.model_fields}
    return {**same, **limits, **policy(asked, settings)}


def most(asked: JobRequest | JobSpec, settings: ApiSettings) -> Cap:
    """What a job may spend: by its own limits, else by the operator's."""
    return cap(
        asked.max_cost_usd or settings.max_job_cost_usd, asked.max_tokens or settings.max_job_tokens
    )


def digest(asked: RequestModel, uploads: Mapping[str, str] = NO_DIGESTS) -> str:
    """The identity of a body: its values, however they were written, and the digests of the files
    beside it.

    Default values are left out, so that a release with another field gives old bodies the same one.
    """
    files = [f"\n{each} {path}" for path, each in sorted(uploads.items())]
    return _hashed("".join((asked.model_dump_json(exclude_defaults=True), *files)))


def retry_digest(job_id: str, asked: RetryRequest) -> str:
    """The identity of a retry: its job and all that was sent."""
    sent = asked.model_dump_json(exclude_unset=True) if asked.model_fields_set else ""
    return _hashed(f"retry of {job_id}{sent}") if sent else f"retry of {job_id}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def is_allowed(model: str, allowed: tuple[str, ...]) -> bool:
    """Whether a model is on the allow-list of `provider:model` and `provider:*`.

    `auto` always is: it stands for the operator's own models.
    """
    return model == AUTO or any(
        model.startswith(pattern[:-1]) if pattern.endswith("*") else model == pattern
        for pattern in allowed
    )


def not_allowed(model: str, allowed: tuple[str, ...]) -> str:
    """The message about a model that jobs may not name."""
    return f"{model} is not on the allow-list (FETTLE_MODELS): {', '.join((*allowed, AUTO))}"


def _errors(
    asked: JobRequest,
    settings: ApiSettings,
    uploads: Mapping[str, bytes],
    bundle: bytes | None,
) -> Iterator[FieldError]:
    yield from _term_errors(asked, settings, asked.model_fields_set, questions=asked.questions)
    yield from file_errors(texts(asked), settings, uploads, kept(asked), len(bundle or b""))
    yield from repo_errors.errors(asked, bundle)
    yield from delivery_errors(asked.deliver, asked, settings)
    if asked.checks is not None:
        yield from checks.errors(asked.checks)


def _term_errors(
    asked: Terms, settings: ApiSettings, sent: Collection[str], *, questions: bool
) -> Iterator[FieldError]:
    """`sent` are the fields that the request named itself."""
    if asked.model is not None and not is_allowed(asked.model, settings.models):
        yield FieldError(
            field="model",
            message=not_allowed(asked.model, settings.models),
            limit=list(settings.models),
        )
    yield from limit_errors(asked, settings)
    yield from policy_errors(asked, settings)
    yield from unreviewed_errors(asked, sent, questions=questions)
    yield from _budget_errors(asked, settings)


def _budget_errors(asked: Terms, settings: ApiSettings) -> Iterator[FieldError]:
    dollars, tokens = settings.max_job_cost_usd, settings.max_job_tokens
    if asked.max_cost_usd is not None and not Decimal(asked.max_cost_usd):
        message = "a job needs more than 0 US dollars; leave it out for the operator's limit"
        yield FieldError(field="max_cost_usd", message=message)
    if dollars is not None and Decimal(asked.max_cost_usd or 0) > dollars:
        message = f"a job may spend {dollars:f} US dollars at most"
        yield FieldError(field="max_cost_usd", message=message, limit=f"{dollars:f}")
    if asked.max_tokens is not None and tokens is not None and asked.max_tokens > tokens:
        message = f"a job may use {tokens:,} tokens at most"
        yield FieldError(field="max_tokens", message=message, limit=tokens)


def _text(dollars: Decimal | None) -> str | None:
    return None if dollars is None else f"{dollars:f}"


def file_errors(
    texts: Mapping[str, str],
    settings: ApiSettings,
    uploads: Mapping[str, bytes] = NO_FILES,
    kept: Collection[str] = (),
    bundle_bytes: int = 0,
) -> Iterator[FieldError]:
    """The errors in the files of a body: `texts` in its JSON, `uploads` beside it, and the paths of
    those that are `kept` already, whose sizes nobody knows yet. A bundle counts with them."""
    count, most = len(texts) + len(uploads) + len(kept), settings.max_files
    if count > most:
        message = f"a job may have at most {most} files (FETTLE_MAX_FILES), not {count}"
        yield FieldError(field="files", message=message, limit=most)
    total = sum(len(text.encode()) for text in texts.values()) + sum(map(len, uploads.values()))
    yield from size_error(total + bundle_bytes, settings)
    yield from path_errors([*texts, *uploads, *kept], "files")


def size_error(total: int, settings: ApiSettings) -> Iterator[FieldError]:
    """The error where so many bytes of files are more than the operator allows."""
    most = settings.max_files_bytes
    if total > most:
        message = f"all files may have at most {most} bytes (FETTLE_MAX_FILES_BYTES), not {total}"
        yield FieldError(field="files", message=message, limit=most)


def texts(asked: JobRequest) -> dict[str, str]:
    """The files whose text is in the JSON."""
    return {path: file for path, file in asked.files.items() if isinstance(file, str)}


def kept(asked: JobRequest) -> dict[str, KeptFile]:
    """The files that another job has."""
    return {path: file for path, file in asked.files.items() if isinstance(file, KeptFile)}


def timeout_of(seconds: int | None, settings: ApiSettings) -> int:
    """The limit of a job's running time: the requested one, else the default."""
    if seconds is not None:
        return seconds
    return min(DEFAULT_TIMEOUT_SECONDS, settings.max_timeout_seconds)


def limit_errors(asked: RequestModel, settings: ApiSettings) -> Iterator[FieldError]:
    """The errors where it is more than the operator allows."""
    for field, setting in MAXIMA.items():
        value, most = getattr(asked, field, None), getattr(settings, setting)
        if value is not None and value > most:
            message = f"at most {most} here (FETTLE_{setting.upper()})"
            yield FieldError(field=field, message=message, limit=most)
