"""From a validated body to the spec of a verification."""

from __future__ import annotations

from dataclasses import dataclass

from api.schemas.checks import VerificationRequest
from api.schemas.problem import FieldError
from api.submission import checks
from api.submission.job_requests import file_errors, limit_errors, refuse, timeout_of
from api.submission.paths import path_errors
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest, checked_path
from jobs.model.record import JobRecord
from jobs.model.spec import CheckSpec, JobSpec, Kind
from settings.api import ApiSettings

PATHS_NAMED = 3


@dataclass(frozen=True, slots=True)
class Base:
    """The files to verify: their manifest's digest, and the digests of their bytes."""

    workspace: str | None
    digests: tuple[str, ...]


def check(asked: VerificationRequest, settings: ApiSettings) -> None:
    """Raise Refused: 422 that names each field and its limit."""
    refuse(
        [
            *limit_errors(asked, settings),
            *file_errors(asked.files, settings),
            *checks.errors(asked.checks),
        ]
    )


async def base(blobs: Blobs, asked: VerificationRequest, job: JobRecord | None) -> Base:
    """The present files of `job`, overlaid with those of the body. Raises Refused, a 422, for a job
    on a repository: they are not all of its files."""
    if job is not None and job.spec.repo is not None:
        message = "the job is on a repository: its files cannot be verified apart from it"
        refuse([FieldError(field="job_id", message=message)])
    under = await manifest.load(blobs, job.workspace if job else None)
    entries = {}
    for path, text in asked.files.items():
        content = text.encode()
        entries[checked_path(path)] = FileEntry(await blobs.put(content), len(content))
    merged: Manifest = under.with_files(entries, frozenset())
    refuse(path_errors(merged.files, "files"))
    if not merged.files:
        return Base(None, ())
    digest = await blobs.put(merged.dump())
    return Base(digest, tuple(entry.digest for entry in merged.files.values()))


def to_spec(
    asked: VerificationRequest, workspace: str | None, kept: CheckSpec, settings: ApiSettings
) -> JobSpec:
    """The spec: a job without a model, and without a conversation."""
    names = (*kept.paths, *kept.cases)
    named = ", ".join(names[:PATHS_NAMED])
    more = len(names) - PATHS_NAMED
    of = f" of job {asked.job_id}" if asked.job_id else ""
    return JobSpec(
        task=f"Verification{of} by {named}{f' and {more} more' if more > 0 else ''}",
        workspace=workspace,
        timeout_seconds=timeout_of(asked.timeout_seconds, settings),
        priority=asked.priority,
        labels=tuple(dict.fromkeys(asked.labels)),
        kind=Kind.VERIFICATION,
        checks=kept,
    )
