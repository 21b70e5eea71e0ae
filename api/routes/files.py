"""The files of a job's workspace, and what it has changed in its repository."""

from __future__ import annotations

import mimetypes
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from api import problems
from api.auth.caller import Reader
from api.http import links
from api.http.answers import as_json, unchanged, untrusted_headers, without_stream
from api.http.archive import archived
from api.openapi import BINARY, conditional, download, responses
from api.problems import Refused
from api.schemas.job import File, FileList
from api.services import Services, ServicesDep, find_job
from api.submission.start_files import start_files
from jobs.blobs import manifest
from jobs.blobs.directory import digest_of
from jobs.blobs.manifest import Manifest
from jobs.model.record import JobRecord
from jobs.view import patch as patches

router = APIRouter(tags=["files"])

PATCH_TYPE = "text/x-diff"
BUNDLE_TYPE = "application/x-git-bundle"

When = Annotated[
    Literal["now", "start", "checks"],
    Query(
        description="`start`: the files that the job started from: those that the earlier job of "
        "the conversation left, and the submitted files; `checks`: the files of the acceptance "
        "checks, which are not part of the workspace"
    ),
]


@router.get(
    "/jobs/{job_id}/files",
    operation_id="list_files",
    response_model=FileList,
    summary="List the workspace",
    responses=responses(problems.NOT_FOUND),
)
async def listing(job_id: str, services: ServicesDep, caller: Reader, at: When = "now") -> Response:
    """The files with their digests and sizes, and the symbolic links."""
    record = (await find_job(services, caller, job_id)).record
    workspace = await _workspace(services, record, at)
    files = [
        File(path=path, digest=entry.digest, size=entry.size, href=links.file(job_id, path, at))
        for path, entry in sorted(workspace.files.items())
    ]
    digest = digest_of(workspace.dump()) if workspace != Manifest() else None
    return as_json(FileList(files=files, links=dict(workspace.links), digest=digest))


@router.get(
    "/jobs/{job_id}/files.tar.gz",
    operation_id="download_workspace",
    summary="Download the workspace",
    response_class=StreamingResponse,
    responses={
        **download("The same files, the same bytes", "application/gzip", BINARY),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def archive(job_id: str, request: Request, services: ServicesDep, caller: Reader) -> Response:
    """All files as one archive: regular files only, no links, no times."""
    digest = (await find_job(services, caller, job_id)).record.workspace
    tag = digest or "empty"
    if unchanged(request, tag):
        return Response(status_code=304, headers={"ETag": f'"{tag}"'})
    workspace = await manifest.load(services.blobs, digest)
    headers = untrusted_headers(f"{job_id}.tar.gz", "application/gzip", tag)
    archive = StreamingResponse(archived(workspace, services.blobs), headers=headers)
    return without_stream(request, archive)


@router.get(
    "/jobs/{job_id}/files/{path:path}",
    operation_id="download_file",
    summary="Download a file of the workspace",
    response_class=Response,
    responses={
        **download("The bytes, with their type", BINARY, "*/*"),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def file(
    job_id: str,
    path: str,
    request: Request,
    services: ServicesDep,
    caller: Reader,
    at: When = "now",
) -> Response:
    """One file's bytes; its digest is the ETag."""
    record = (await find_job(services, caller, job_id)).record
    entry = (await _workspace(services, record, at)).files.get(path)
    if entry is None:
        raise Refused(problems.NOT_FOUND, "the workspace has no such file")
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    headers = untrusted_headers(path, media_type, entry.digest)
    return await _kept(request, services, entry.digest, headers)


@router.get(
    "/jobs/{job_id}/patch",
    operation_id="download_patch",
    summary="Download the patch",
    response_class=Response,
    responses={
        **download("What `git apply` takes", PATCH_TYPE),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def patch(job_id: str, request: Request, services: ServicesDep, caller: Reader) -> Response:
    """What the job has changed in its repository, in git's format: of the open review, else of the
    result. `spec.repo` says where it started, `patch.base` at which commit."""
    record = (await find_job(services, caller, job_id)).record
    if (found := patches.newest(record)) is None:
        raise Refused(problems.NOT_FOUND, patches.why_none(record, "patch"))
    headers = untrusted_headers(f"{job_id}.patch", PATCH_TYPE, found.digest)
    return await _kept(request, services, found.digest, headers)


@router.get(
    "/jobs/{job_id}/bundle",
    operation_id="download_bundle",
    summary="Download the change as a git bundle",
    response_class=Response,
    responses={
        **download("What `git fetch` takes", BUNDLE_TYPE, BINARY),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def bundle(
    job_id: str,
    request: Request,
    services: ServicesDep,
    caller: Reader,
    at: Annotated[
        Literal["now", "start"], Query(description="`start`: the bundle that the job came with")
    ] = "now",
) -> Response:
    """The patch as one commit on the branch `fettle/JOB`, for a clone that has its base."""
    record = (await find_job(services, caller, job_id)).record
    if at == "start":
        digest = record.spec.repo.bundle if record.spec.repo else None
        why = "the job did not start from a bundle"
    else:
        digest, why = patches.newest_bundle(record), patches.why_none(record, "bundle")
    if digest is None:
        raise Refused(problems.NOT_FOUND, why)
    headers = untrusted_headers(f"{job_id}.bundle", BUNDLE_TYPE, digest)
    return await _kept(request, services, digest, headers)


async def _kept(
    request: Request, services: Services, digest: str, headers: dict[str, str]
) -> Response:
    if unchanged(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(await services.blobs.get(digest), headers=headers)


async def _workspace(services: Services, record: JobRecord, at: str) -> Manifest:
    if at == "start":
        return await start_files(services, record)
    checks = record.spec.checks.manifest if record.spec.checks else None
    return await manifest.load(services.blobs, record.workspace if at == "now" else checks)
