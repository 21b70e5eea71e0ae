"""The lists of a job's files and artifacts. `api.routes.downloads` has their bytes."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Reader
from api.http import links
from api.http.answers import as_json
from api.openapi import responses
from api.routes.downloads import Moment, load_workspace
from api.schemas.job import ArtifactList, File, FileList
from api.services import ServicesDep, find_job
from jobs.blobs.directory import digest_bytes
from jobs.blobs.manifest import Manifest
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
