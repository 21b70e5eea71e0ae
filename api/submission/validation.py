"""The errors of a request that its schema cannot find. Pure.

They depend on the operator's settings, or on several fields together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from api.http.body import BODY_SETTING, NO_PARTS, FormParts, too_large
from api.http.field_errors import refuse
from api.schemas.checks import MOST_BYTES, ChecksRequest, VerificationRequest
from api.schemas.fields import KeptFile
from api.schemas.job_defaults import NO_DEFAULTS, JobDefaults
from api.schemas.job_request import ForkRequest, JobRequest, RetryRequest, Terms
from api.schemas.problem import FieldError
from api.submission.job_spec import new_spec
from jobs.blobs.manifest import normalize_path
from jobs.errors import PathRefused
from jobs.model.credentials import Signer
from jobs.model.spec import CASES_PATH, JobKind, JobSpec, OnExpiry
from settings.api import ApiSettings

AUTO = "auto"
FIELDS_OF_BENCHMARK = frozenset(
    {
        *("benchmark", "task", "files", "labels", "priority"),
        *("model", "repair", "max_revisions", "record", "image", "max_steps"),
        *("timeout_seconds", "run_seconds", "run_memory_bytes", "max_cost_usd", "max_tokens"),
    }
)
"""The fields of a request for a benchmark. Exercises ask no person and have no repository."""
TERMS_OF_KIND: Mapping[JobKind, tuple[frozenset[str], str]] = MappingProxyType(
    {
        JobKind.VERIFICATION: (
            frozenset(
                {
                    *("timeout_seconds", "run_seconds", "run_memory_bytes"),
                    "image",
                    "checks",
                    "revision",
                }
            ),
            "a verification calls no model and has no review",
        ),
        JobKind.BENCHMARK: (
            FIELDS_OF_BENCHMARK,
            "the exercises of a benchmark ask no person and have no checks of their own",
        ),
    }
)
"""The fields of a retry or a fork that change a job of this kind, and why there are no others."""
SETTING_OF_LIMIT: Mapping[str, str] = MappingProxyType(
    {
        "timeout_seconds": "max_timeout_seconds",
        "run_seconds": "max_run_seconds",
        "run_memory_bytes": "max_run_memory_bytes",
        "max_steps": "max_job_steps",
    }
)
"""The fields of a request that a setting bounds, with the setting."""
REVIEW_FIELDS: Final = ("approvals", "pause", "review_expires_seconds", "on_expiry")
PAUSE_FIELDS: Final = ("review_remind_seconds", "review_escalate_seconds")
"""The review terms that also apply to the planner's questions."""
BUNDLE_START, BUNDLE_VERSION_END = b"# v", b" git bundle\n"
PATH_CHARACTERS = 100
"""A path in an error is cut to this length, because a path may be as long as a body."""


def check_job(
    request: JobRequest,
    size: int,
    settings: ApiSettings,
    parts: FormParts = NO_PARTS,
    defaults: JobDefaults = NO_DEFAULTS,
) -> JobSpec:
    """The spec of a valid request. Raises RefusedRequest: 422 that names each field and its limit,
    or 413.

    `size` is the size of the JSON in bytes. The JSON without its files may have at most
    `max_body_bytes`.
    """
    size_without_files = len(request.model_dump_json(exclude={"files"})) if request.files else size
    if size_without_files > settings.max_body_bytes:
        raise too_large(settings.max_body_bytes, "the body without its files", BODY_SETTING)
    spec = new_spec(request, settings, defaults)
    errors = [
        *term_errors(spec, request, settings, request.on_expiry),
        *file_errors(request, settings, parts),
        *repository_errors(request, parts.bundle),
        *delivery_errors(spec, settings),
    ]
    if request.checks is not None:
        errors += check_errors(request.checks)
    refuse(errors)
    return spec


def check_defaults(defaults: JobDefaults, settings: ApiSettings) -> None:
    """Raise RefusedRequest, a 422, if new jobs may not have these defaults."""
    request = JobRequest(task="any")
    spec = new_spec(request, settings, defaults)
    errors = term_errors(spec, request, settings, defaults.on_expiry)
    refuse(error.model_copy(update={"field": f"defaults.{error.field}"}) for error in errors)


def check_retry(request: RetryRequest, spec: JobSpec, settings: ApiSettings) -> None:
    """Raise RefusedRequest, a 422, if a retry may not have this spec."""
    errors = list(delivery_errors(spec, settings))
    sent = request.model_fields_set
    if spec.kind in TERMS_OF_KIND:
        fields, reason = TERMS_OF_KIND[spec.kind]
        message = f"{reason}: leave this field out"
        errors += [FieldError(field=name, message=message) for name in sorted(sent - fields)]
    if sent:
        requested_expiry = request.on_expiry if "on_expiry" in sent else spec.on_expiry
        errors = [*term_errors(spec, request, settings, requested_expiry), *errors]
        if spec.repo is None:
            errors += _setup_errors(spec.setup)
    refuse(errors)


def check_fork(request: ForkRequest, spec: JobSpec, settings: ApiSettings) -> None:
    """Raise RefusedRequest, a 422, if a fork may not have this spec."""
    check_retry(request, spec, settings)
    if request.checks is not None:
        refuse(check_errors(request.checks))


def check_verification(request: VerificationRequest, settings: ApiSettings) -> None:
    """Raise RefusedRequest: 422 that names each field and its limit."""
    limit = settings.max_timeout_seconds
    errors = []
    if request.timeout_seconds is not None and request.timeout_seconds > limit:
        errors.append(_limit_error("timeout_seconds", limit))
    errors += _file_errors(request.files, NO_PARTS.files, (), 0, settings)
    errors += check_errors(request.checks)
    refuse(errors)


def check_edited_files(files: Mapping[str, str | None], settings: ApiSettings) -> None:
    """Raise RefusedRequest, a 422, if a person may not send these files (None: removed)."""
    texts = {path: text for path, text in files.items() if text is not None}
    removed = tuple(files.keys() - texts.keys())
    refuse(_file_errors(texts, NO_PARTS.files, removed, 0, settings))


def term_errors(
    spec: JobSpec, request: Terms, settings: ApiSettings, requested_expiry: OnExpiry | None
) -> Iterator[FieldError]:
    """Errors in the terms of a spec. `request` has the terms that were sent. `requested_expiry` is
    the `on_expiry` that the caller chose; None: the operator's default, which is never an error."""
    yield from model_errors(spec, settings)
    limits = {field: getattr(settings, name) for field, name in SETTING_OF_LIMIT.items()}
    for field, limit in limits.items():
        value = getattr(spec, field)
        if value is not None and value > limit:
            yield _limit_error(field, limit)
    yield from _review_term_errors(spec, settings, requested_expiry)
    yield from _unreviewed_errors(spec, request)
    yield from _budget_errors(spec, settings)


def model_errors(spec: JobSpec, settings: ApiSettings) -> Iterator[FieldError]:
    """The error of each model of a spec that is not on the operator's allow-list."""
    chains = {"model": (spec.model,) if spec.model else ()} | {
        f"{role}_model": chain for role, chain in (spec.role_models or {}).items()
    }
    for field, chain in chains.items():
        for model in chain:
            if not is_allowed(model, settings.models):
                message = explain_not_allowed(model, settings.models)
                yield FieldError(field=field, message=message, limit=list(settings.models))


def _limit_error(field: str, limit: float) -> FieldError:
    setting = f"FETTLE_{SETTING_OF_LIMIT[field].upper()}"
    message = f"this deployment allows at most {limit} ({setting})"
    return FieldError(field=field, message=message, limit=limit)


def _review_term_errors(
    spec: JobSpec, settings: ApiSettings, requested_expiry: OnExpiry | None
) -> Iterator[FieldError]:
    """Errors of review terms that exclude each other, or that the operator does not allow."""
    least = settings.review_approvals
    if spec.approvals < least:
        message = f"the operator requires {least} approvals"
        yield FieldError(field="approvals", message=message, limit=least)
    elif requested_expiry is OnExpiry.APPROVE and spec.approvals > 1:
        message = "approve needs approvals: 1, because expiry cannot give a second approval"
        yield FieldError(field="on_expiry", message=message)
    decides = requested_expiry in (OnExpiry.APPROVE, OnExpiry.REJECT)
    if decides and spec.review_expires_seconds is None:
        message = f"{requested_expiry} on expiry needs review_expires_seconds"
        yield FieldError(field="on_expiry", message=message)


def _unreviewed_errors(spec: JobSpec, request: Terms) -> Iterator[FieldError]:
    """Errors of terms about reviews of a job that has no review: a user who sends `approvals: 2`
    expects a review."""
    if spec.review:
        return
    for name in (*REVIEW_FIELDS, *(() if spec.questions else PAUSE_FIELDS)):
        if name in request.model_fields_set and getattr(request, name) is not None:
            yield FieldError(field=name, message="needs review: true")


def _budget_errors(spec: JobSpec, settings: ApiSettings) -> Iterator[FieldError]:
    max_dollars, max_tokens = settings.max_job_cost_usd, settings.max_job_tokens
    dollars = None if spec.max_cost_usd is None else Decimal(spec.max_cost_usd)
    if dollars is not None and not dollars:
        message = "a job needs more than 0 US dollars; leave it out for the operator's limit"
        yield FieldError(field="max_cost_usd", message=message)
    if dollars is not None and max_dollars is not None and dollars > max_dollars:
        message = f"a job may spend at most {max_dollars:f} US dollars"
        yield FieldError(field="max_cost_usd", message=message, limit=f"{max_dollars:f}")
    if spec.max_tokens is not None and max_tokens is not None and spec.max_tokens > max_tokens:
        message = f"a job may use at most {max_tokens:,} tokens"
        yield FieldError(field="max_tokens", message=message, limit=max_tokens)


def is_allowed(model: str, allowed: tuple[str, ...]) -> bool:
    """Whether a model is on the allow-list of `provider:model` and `provider:*`.

    `auto` always is, because the operator chooses its models.
    """
    return model == AUTO or any(
        model.startswith(pattern[:-1]) if pattern.endswith("*") else model == pattern
        for pattern in allowed
    )


def explain_not_allowed(model: str, allowed: tuple[str, ...]) -> str:
    """The message about a model that jobs may not name."""
    return f"{model} is not on the allow-list (FETTLE_MODELS): {', '.join((*allowed, AUTO))}"


def delivery_errors(spec: JobSpec, settings: ApiSettings) -> Iterator[FieldError]:
    """Errors of a job that may deliver a change without a person's approval, if the operator
    requires that approval."""
    if not spec.deliver or not settings.deliver_needs_review:
        return
    rule = "this deployment delivers only changes that a person has approved"
    if not spec.review:
        yield FieldError(field="review", message=f"{rule}: send review: true")
    elif spec.on_expiry is OnExpiry.APPROVE:
        message = f"{rule}, and expiry is not a person's approval: send reject or stay"
        yield FieldError(field="on_expiry", message=message)


def approver_errors(
    spec: JobSpec, submitter: Signer, earlier: Collection[Signer] = ()
) -> Iterator[FieldError]:
    """The error of a job that would wait for its approval for ever: other persons than its authors
    have to approve it, the first key is one of its authors, and the first key has made, directly or
    not, each key that could approve it. `earlier` are the authors of the earlier job."""
    if not spec.review or not spec.needs_other_persons:
        return
    if any(author.is_first_key for author in (submitter, *earlier)):
        message = (
            f"{f'by {spec.review_rules}, ' if spec.review_rules else ''}other persons than the "
            "authors approve, the first key (FETTLE_API_KEY) is an author, and no key that it has "
            "made may approve its work: submit a new job with a person's key (fettle keys create "
            "NAME --person PERSON)"
        )
        yield FieldError(field="approvals", message=message)


def inline_files(request: JobRequest) -> dict[str, str]:
    """The files that the JSON contains as texts, by path."""
    return {path: file for path, file in request.files.items() if isinstance(file, str)}


def kept_files(request: JobRequest) -> dict[str, KeptFile]:
    """The files that another job has, by path."""
    return {path: file for path, file in request.files.items() if isinstance(file, KeptFile)}


def file_errors(
    request: JobRequest, settings: ApiSettings, parts: FormParts = NO_PARTS
) -> Iterator[FieldError]:
    """Errors in the files of a request. The sizes of files of another job are not known yet."""
    bundle_bytes = len(parts.bundle or b"")
    kept_paths = tuple(kept_files(request))
    return _file_errors(inline_files(request), parts.files, kept_paths, bundle_bytes, settings)


def _file_errors(
    texts: Mapping[str, str],
    uploads: Mapping[str, bytes],
    kept_paths: Collection[str],
    bundle_bytes: int,
    settings: ApiSettings,
) -> Iterator[FieldError]:
    count, limit = len(texts) + len(uploads) + len(kept_paths), settings.max_files
    if count > limit:
        message = f"a job may have at most {limit} files (FETTLE_MAX_FILES), not {count}"
        yield FieldError(field="files", message=message, limit=limit)
    total = sum(len(text.encode()) for text in texts.values()) + sum(map(len, uploads.values()))
    yield from size_errors(total + bundle_bytes, settings)
    yield from path_errors([*texts, *uploads, *kept_paths], "files")


def size_errors(total: int, settings: ApiSettings) -> Iterator[FieldError]:
    """The error if files of `total` bytes are larger than the operator allows."""
    limit = settings.max_files_bytes
    if total > limit:
        message = f"all files may have at most {limit} bytes (FETTLE_MAX_FILES_BYTES), not {total}"
        yield FieldError(field="files", message=message, limit=limit)


def path_errors(paths: Iterable[str], field: str) -> Iterator[FieldError]:
    """Errors for invalid paths, duplicates, and files that are also directories."""
    sent_as: dict[str, str] = {}
    for path in paths:
        try:
            normal = normalize_path(path)
        except PathRefused as error:
            yield _path_error(field, path, str(error))
            continue
        if normal in sent_as:
            yield _path_error(field, path, f"is the same file as {sent_as[normal]!r}")
        sent_as[normal] = path
    for normal, path in sent_as.items():
        parts = normal.split("/")
        for depth in range(1, len(parts)):
            if (parent := "/".join(parts[:depth])) in sent_as:
                yield _path_error(field, path, f"{parent!r} is a file already")


def _path_error(field: str, path: str, message: str) -> FieldError:
    return FieldError(
        field=f"{field}.{path[:PATH_CHARACTERS]}", message=message[: 2 * PATH_CHARACTERS]
    )


def repository_errors(request: JobRequest, bundle: bytes | None) -> Iterator[FieldError]:
    """Errors in the repository of a request. `bundle` is the part of the form."""
    repo = request.repo
    if request.deliver is not None and (repo is None or repo.url is None):
        message = "a change is delivered to the repository's url: name it as repo.url"
        yield FieldError(field="deliver", message=message)
    if repo is None and bundle is None:
        yield from _setup_errors(request.setup)
        return
    has_source = repo is not None and (repo.url is not None or repo.bundle is not None)
    if has_source and bundle is not None:
        message = "the JSON names a repository, too: leave one of them out"
        yield FieldError(field="bundle", message=message)
    if not has_source and bundle is None:
        yield FieldError(field="repo", message="it needs a url or a bundle")
    if bundle is not None and not _is_bundle(bundle):
        message = "it is not a git bundle: make one with `git bundle create FILE HEAD`"
        yield FieldError(field="bundle", message=message)


def _setup_errors(setup: str | None) -> Iterator[FieldError]:
    """The error of a setup without a repository."""
    if setup is not None:
        message = "it installs a repository's dependencies: name the `repo`, or leave it out"
        yield FieldError(field="setup", message=message)


def _is_bundle(content: bytes) -> bool:
    head = content[: len(BUNDLE_START) + 1 + len(BUNDLE_VERSION_END)]
    return head.startswith(BUNDLE_START) and head.endswith(BUNDLE_VERSION_END)


def check_errors(checks: ChecksRequest) -> Iterator[FieldError]:
    """Errors in acceptance checks."""
    total = sum(len(text.encode(errors="replace")) for text in checks.files.values())
    total += sum(len(case.model_dump_json(exclude_defaults=True)) for case in checks.cases)
    if total > MOST_BYTES:
        message = f"all together may have at most {MOST_BYTES} bytes, not {total}"
        field = "checks.files" if checks.files else "checks.cases"
        yield FieldError(field=field, message=message, limit=MOST_BYTES)
    yield from path_errors([*checks.files, CASES_PATH], "checks.files")
    ids = case_ids(checks)
    for number, case in enumerate(checks.cases):
        if ids[number] in ids[:number]:
            message = f"another case is named {ids[number]!r}: give each case its own name"
            yield FieldError(field=f"checks.cases.{number}.name", message=message)
        yield from path_errors(case.files, f"checks.cases.{number}.files")
        yield from path_errors(case.expect_files, f"checks.cases.{number}.expect_files")


def case_ids(checks: ChecksRequest) -> tuple[str, ...]:
    """The ids of the cases, as `agents.checks.cases` makes them."""
    return tuple(f"case {case.name or number}" for number, case in enumerate(checks.cases, 1))
