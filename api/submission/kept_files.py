"""Files of a new job that another job has already: named by digest, never sent again."""

from __future__ import annotations

from collections.abc import Mapping

from api.schemas.fields import KeptFile
from api.schemas.job_request import JobRequest
from api.schemas.problem import FieldError
from api.services import Services, find_job
from api.submission.job_requests import kept, refuse, size_error
from jobs.blobs import manifest
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, checked_path
from jobs.model.credentials import Credential


async def resolve(
    services: Services, caller: Credential, asked: JobRequest, sent: int
) -> dict[str, FileEntry]:
    """The entries of a request's files that are there already, by path; `sent` bytes come with it.

    Knowing a digest gives nobody its bytes: the job must be of the caller's tenant. What is found
    stays until the new job refers to it. Raises Refused: 404, 422.
    """
    found = await _found(services, caller, kept(asked))
    total = sent + sum(entry.size for entry in found.values())
    refuse(size_error(total, services.settings))
    if found:  # none is being removed: a job names it, or did so within the grace period
        await services.store.blobs.pin([entry.digest for entry in found.values()])
    return found


async def _found(
    services: Services, caller: Credential, asked: Mapping[str, KeptFile]
) -> dict[str, FileEntry]:
    found: dict[str, FileEntry] = {}
    there: dict[str, dict[str, FileEntry]] = {}
    for path, file in asked.items():
        if file.job_id not in there:
            there[file.job_id] = await _entries(services, caller, file.job_id)
        entry = there[file.job_id].get(file.digest)
        if entry is None:
            message = f"job {file.job_id} has no file with this digest"
            refuse([FieldError(field=f"files.{path[:100]}.digest", message=message)])
        else:
            found[checked_path(path)] = entry
    return found


async def save(
    blobs: Blobs, files: Mapping[str, bytes], known: Mapping[str, FileEntry]
) -> str | None:
    """Store the files as a workspace with those that are `known`; returns its digest."""
    workspace = await manifest.save(blobs, files)
    if not known:
        return workspace
    sent = await manifest.load(blobs, workspace)
    return await blobs.put(sent.with_files(known, frozenset()).dump())


async def _entries(services: Services, caller: Credential, job_id: str) -> dict[str, FileEntry]:
    """The files that a job started with and those that it has now, by digest."""
    record = (await find_job(services, caller, job_id)).record
    workspaces = [
        await manifest.load(services.blobs, digest)
        for digest in (record.spec.workspace, record.workspace)
    ]
    return {entry.digest: entry for each in workspaces for entry in each.files.values()}
