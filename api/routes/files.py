"""The lists of a job's files, changes and artifacts. `api.routes.downloads` has their bytes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query, Response

from api import problems
from api.auth.caller import Reader
from api.changes import load_changes
from api.http import links
from api.http.answers import as_json
from api.openapi import responses
from api.routes.downloads import Moment, load_workspace
from api.schemas.job import ArtifactList, ChangedFile, ChangeList, File, FileList, Patch
from api.services import ServicesDep, find_job
from jobs.blobs.directory import digest_bytes
from jobs.blobs.manifest import Manifest
from jobs.view.patch import Since
from jobs.view.work import list_artifacts

router = APIRouter()

ChangedSince = Annotated[
    Since,
    Query(
        description="`start`: the commit, or the files that the job started from; `pause`: the "
        "work at the last pause before the present one, or at the last pause if the job goes on or "
        "has ended; a 404 if there is no such pause"
    ),
]


@router.get(
    "/jobs/{job_id}/files",
    tags=["files"],
    operation_id="list_files",
    response_model=FileList,
    summary="List the workspace",
    responses=responses(problems.NOT_FOUND),
)
async def files(job_id: str, services: ServicesDep, caller: Reader, at: Moment = "now") -> Response:
    """The files with their digests and sizes, and the symbolic links."""
    record = (await find_job(services, caller, job_id)).record
    workspace = await load_workspace(services, record, at)
    rows = [
        File(path=path, digest=entry.digest, size=entry.size, href=links.file(job_id, path, at))
        for path, entry in sorted(workspace.files.items())
    ]
    digest = digest_bytes(workspace.dump()) if workspace != Manifest() else None
    return as_json(FileList(files=rows, links=dict(workspace.links), digest=digest))


@router.get(
    "/jobs/{job_id}/changes",
    tags=["files"],
    operation_id="list_changes",
    response_model=ChangeList,
    summary="List the changed files",
    responses=responses(problems.NOT_FOUND),
)
async def changes(
    job_id: str, services: ServicesDep, caller: Reader, since: ChangedSince = Since.START
) -> Response:
    """The files that the job has changed, each with the facts for which a reviewer should look at
    it first."""
    record = (await find_job(services, caller, job_id)).record
    changes = await load_changes(services, record, since)
    facts = {file.path: list(file.facts) for file in changes.attention}
    rows = [
        ChangedFile(
            path=file.path,
            notes=list(file.notes),
            insertions=file.insertions,
            deletions=file.deletions,
            unread=file.unread,
            facts=facts.get(file.path, []),
        )
        for file in sorted(changes.files or (), key=lambda file: file.path not in facts)
    ]
    patch = Patch(**asdict(changes.patch)) if changes.patch else None
    is_complete = changes.files is not None
    return as_json(ChangeList(since=since, patch=patch, files=rows, complete=is_complete))


@router.get(
    "/jobs/{job_id}/artifacts",
    tags=["artifacts"],
    operation_id="list_artifacts",
    response_model=ArtifactList,
    summary="List artifacts",
    responses=responses(problems.NOT_FOUND),
)
async def artifacts(job_id: str, services: ServicesDep, caller: Reader) -> Response:
    """The files that the job's runs and tools made, each in its newest version."""
    await find_job(services, caller, job_id)
    newest = list_artifacts(await services.store.events(job_id))
    listed = links.with_hrefs(job_id, newest.values())
    return as_json(ArtifactList.model_validate({"artifacts": listed}))
