"""What a job has changed in its repository, as far as it is there."""

from __future__ import annotations

from dataclasses import fields

from jobs.model.record import JobRecord, PatchRef
from jobs.model.review import Review


def newest(record: JobRecord) -> PatchRef | None:
    """The patch of the open review, else of the result."""
    if record.review is not None:
        return of_review(record.review)
    return record.result.patch if record.result else None


def of_review(review: Review) -> PatchRef | None:
    """The patch that a review shows."""
    shown = review.payload.get("patch")
    return PatchRef(**{each.name: shown[each.name] for each in fields(PatchRef)}) if shown else None


def newest_bundle(record: JobRecord) -> str | None:
    """The digest of the bundle of the open review, else of the result."""
    if record.review is not None:
        return record.review.payload.get("bundle")
    return record.result.bundle if record.result else None


def why_none(record: JobRecord, what: str) -> str:
    """Why there is no `what` (patch or bundle) of a job."""
    if record.spec.repo is None:
        return f"the job is not on a repository: it has no {what}"
    if record.review is not None:
        return f"the open review shows no {what}"
    if not record.status.final:
        return f"the job is {record.status}: its {what} comes with its review, or its end"
    return f"the job is {record.status}, and has no {what}"
