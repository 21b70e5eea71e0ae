"""The lists of a job's files, changes and artifacts. `api.routes.downloads` has their bytes."""

from __future__ import annotations

import asyncio
from dataclasses import asdict

from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Reader
from api.changes import NOW, START, Since, Until, load_changes, load_workspace
from api.http import links
from api.http.answers import as_json
from api.openapi import responses
from api.routes.downloads import Moment
from api.schemas.files import ArtifactList, ChangedFile, ChangeList, File, FileList
from api.schemas.job_result import Patch
from api.services import ServicesDep, find_job
from jobs.blobs.directory import digest_bytes
from jobs.blobs.manifest import Manifest
from jobs.view.attention import attention_of
from jobs.view.work import list_artifacts

router = APIRouter()


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
    job_id: str,
    services: ServicesDep,
    caller: Reader,
    since: Since = START,
    until: Until = NOW,
) -> Response:
    """The files that the job has changed, each with the facts for which a reviewer should look at
    it first."""
    record = (await find_job(services, caller, job_id)).record
    changes = await load_changes(services, record, since, until)
    lfs = changes.patch.lfs if changes.patch else ()
    attention = await asyncio.to_thread(attention_of, changes.files or (), record.spec, lfs)
    facts = {file.path: list(file.facts) for file in attention}
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
    return as_json(
        ChangeList(since=changes.since, until=until, patch=patch, files=rows, complete=is_complete)
    )


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
