"""Downloads of a job's bytes: for programs with a key, and for browsers with a session.

The routes are defined once, as `router`, and served twice: by the JSON API, and below /app by the
pages. `api.app` and `api.pages.router` say who the reader is by `Downloader`.

No bytes of a model are active content here: everything is a plain picture, plain text or a file.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Mapping
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from api import problems
from api.auth.caller import Reader
from api.changes import REVIEW_NUMBER, load_changes, load_workspace
from api.http.answers import archive, is_unchanged, untrusted_headers, without_stream
from api.openapi import BINARY, conditional, download, headers, responses
from api.problems import RefusedRequest
from api.schemas import patterns
from api.schemas.job_work import Part
from api.services import Services, ServicesDep, find_job
from jobs.blobs import manifest
from jobs.blobs.directory import digest_bytes
from jobs.model.credentials import Credential
from jobs.view import patch as patches
from jobs.view.recording import SUFFIX, build_recording
from jobs.view.work import find_artifact, find_repair, find_run, list_artifacts

router = APIRouter(prefix="/jobs/{job_id}")

PATCH_TYPE = "text/x-diff"
BUNDLE_TYPE = "application/x-git-bundle"

Moment = Annotated[
    str,
    Query(
        pattern=f"^(now|start|checks|{REVIEW_NUMBER})$",
        description="`start`: the files that the job started from: those that the earlier job of "
        "the conversation left, and the submitted files; `checks`: the files of the acceptance "
        "checks, which are not part of the workspace; a number: the workspace at the job's review "
        "with this number, from 1",
    ),
]
ArtifactDigest = Annotated[
    str | None,
    Query(
        pattern=patterns.DIGEST,
        description="the digest of an earlier version; else the newest",
    ),
]
RunId = Annotated[
    str, Path(pattern=r"^r[0-9]{1,9}$", description="the repairing run's id, such as `r3`")
]


async def with_key(request: Request, caller: Reader) -> None:
    """A dependency of the router in the JSON API: the reader is the key's owner."""
    request.state.downloader = caller


async def downloader(request: Request) -> Credential:
    """The reader. The application includes the router with a dependency that sets it."""
    return cast("Credential", request.state.downloader)


Downloader = Annotated[Credential, Depends(downloader)]


def _text_responses(description: str, *rarer: str) -> dict[int | str, dict[str, Any]]:
    """The responses of a route that returns a stored text; `rarer` are media types that few
    generators of clients know."""
    text = {
        "content": {name: {"schema": {"type": "string"}} for name in (*rarer, "text/plain")},
        "description": description,
        "headers": headers("ETag", "Content-Disposition"),
    }
    return {200: text, **responses(problems.NOT_FOUND)}


@router.get(
    "/files.tar.gz",
    tags=["files"],
    operation_id="download_workspace",
    summary="Download the workspace",
    response_class=StreamingResponse,
    responses={
        **download("The same files, the same bytes", "application/gzip", BINARY),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def workspace_archive(
    job_id: str, request: Request, services: ServicesDep, reader: Downloader
) -> Response:
    """All files as one archive: regular files only, no links, no times."""
    digest = (await find_job(services, reader, job_id)).record.workspace
    tag = digest or "empty"
    if is_unchanged(request, tag):
        return Response(status_code=304, headers={"ETag": f'"{tag}"'})
    workspace = await manifest.load(services.blobs, digest)
    headers = untrusted_headers(f"{job_id}.tar.gz", "application/gzip", tag)
    stream = StreamingResponse(archive(workspace, services.blobs), headers=headers)
    return without_stream(request, stream)


@router.get(
    "/files/{path:path}",
    tags=["files"],
    operation_id="download_file",
    summary="Download a file of the workspace",
    response_class=Response,
    responses={
        **download("The bytes, with their type", BINARY, "*/*"),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def workspace_file(
    job_id: str,
    path: str,
    request: Request,
    services: ServicesDep,
    reader: Downloader,
    at: Moment = "now",
) -> Response:
    """One file's bytes; its digest is the ETag."""
    record = (await find_job(services, reader, job_id)).record
    entry = (await load_workspace(services, record, at)).files.get(path)
    if entry is None:
        raise RefusedRequest(problems.NOT_FOUND, "the workspace has no such file")
    media_type = mimetypes.guess_type(path)[0] or "application/octet-stream"
    headers = untrusted_headers(path, media_type, entry.digest)
    return await send_blob(request, services, entry.digest, headers)


@router.get(
    "/patch",
    tags=["files"],
    operation_id="download_patch",
    summary="Download the patch",
    response_class=Response,
    responses={
        **download("What `git apply` takes", PATCH_TYPE),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def patch(
    job_id: str, request: Request, services: ServicesDep, reader: Downloader
) -> Response:
    """What the job has changed, in git's format: in its repository, of the open review, else of the
    result (`spec.repo` is the repository, `patch.base` the commit that the patch applies to).
    Without a repository: since the files that the job started from. Then a file that is binary or
    too large to be compared is only named, and `git apply` refuses it."""
    record = (await find_job(services, reader, job_id)).record
    if record.spec.repo is None:
        changes = await load_changes(services, record)
        if not changes.text:
            reason = "no file" if changes.files is not None else "too many files for a patch"
            raise RefusedRequest(problems.NOT_FOUND, f"the job has changed {reason}")
        digest = digest_bytes(changes.text)
        headers = untrusted_headers(f"{job_id}.patch", PATCH_TYPE, digest)
        is_known = is_unchanged(request, digest)
        return Response(None if is_known else changes.text, 304 if is_known else 200, headers)
    if (newest := patches.current_patch(record)) is None:
        raise RefusedRequest(problems.NOT_FOUND, patches.explain_missing(record, "patch"))
    headers = untrusted_headers(f"{job_id}.patch", PATCH_TYPE, newest.digest)
    return await send_blob(request, services, newest.digest, headers)


@router.get(
    "/bundle",
    tags=["files"],
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
    reader: Downloader,
    at: Annotated[
        Literal["now", "start"], Query(description="`start`: the bundle that the job came with")
    ] = "now",
) -> Response:
    """The patch as one commit on the branch `fettle/JOB`, for a clone that has its base."""
    record = (await find_job(services, reader, job_id)).record
    if at == "start":
        digest = record.spec.repo.bundle if record.spec.repo else None
        detail = "the job did not start from a bundle"
    else:
        digest, detail = patches.current_bundle(record), patches.explain_missing(record, "bundle")
    if digest is None:
        raise RefusedRequest(problems.NOT_FOUND, detail)
    headers = untrusted_headers(f"{job_id}.bundle", BUNDLE_TYPE, digest)
    return await send_blob(request, services, digest, headers)


@router.get(
    "/artifacts/{name:path}",
    tags=["artifacts"],
    operation_id="download_artifact",
    summary="Download an artifact",
    response_class=Response,
    responses={
        **download("The bytes, with their type", BINARY, "*/*"),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def artifact(
    job_id: str,
    name: str,
    request: Request,
    services: ServicesDep,
    reader: Downloader,
    digest: ArtifactDigest = None,
) -> Response:
    """The bytes, with their type, and their digest as ETag; never active content."""
    await find_job(services, reader, job_id)
    events = await services.store.events(job_id)
    version = find_artifact(events, name, digest) if digest else list_artifacts(events).get(name)
    if version is None:
        raise RefusedRequest(problems.NOT_FOUND, "this job has no such artifact")
    headers = untrusted_headers(name, version["media_type"], version["digest"])
    return await send_blob(request, services, version["digest"], headers)


@router.get(
    "/runs/{number}/{part}",
    tags=["artifacts"],
    operation_id="read_run_text",
    summary="Read a run's complete text",
    response_class=PlainTextResponse,
    responses=_text_responses("The stored text"),
)
async def run_text(
    job_id: str, number: int, part: Part, services: ServicesDep, reader: Downloader
) -> Response:
    """The code, stdout or stderr of a run. The job shows only the head and tail of a long one."""
    await find_job(services, reader, job_id)
    run = find_run(await services.store.events(job_id), number)
    if run is None:
        raise RefusedRequest(problems.NOT_FOUND, f"the job has no run {number}")
    return await _send_text(services, f"{part}.txt", run[part])


@router.get(
    "/repairs/{run}/diff",
    tags=["artifacts"],
    operation_id="read_repair_diff",
    summary="Read a repair's complete diff",
    response_class=PlainTextResponse,
    responses=_text_responses("The stored diff"),
)
async def repair_diff(
    job_id: str, run: RunId, services: ServicesDep, reader: Downloader
) -> Response:
    """All changes between a failed run and its repair; `run` is the repairing run's id."""
    await find_job(services, reader, job_id)
    repair = find_repair(await services.store.events(job_id), run)
    if repair is None:
        raise RefusedRequest(problems.NOT_FOUND, f"the job has no repair {run}")
    return await _send_text(services, f"{run}.diff.txt", repair["diff"])


@router.get(
    "/recording",
    tags=["artifacts"],
    operation_id="download_recording",
    summary="Download the recording",
    response_class=Response,
    responses=_text_responses("The recording so far", "application/yaml"),
)
async def recording_file(job_id: str, services: ServicesDep, reader: Downloader) -> Response:
    """The job's model requests and replies, without secrets; 404 if it was not recorded. It holds
    only this job's prompts."""
    await find_job(services, reader, job_id)
    content = await build_recording(job_id, await services.store.events(job_id), services.blobs)
    if content is None:
        detail = "this job was not recorded: submit it with `record`, or set FETTLE_RECORD"
        raise RefusedRequest(problems.NOT_FOUND, detail)
    headers = untrusted_headers(f"{job_id}{SUFFIX}", "application/yaml", digest_bytes(content))
    return Response(content, headers=headers)


async def send_blob(
    request: Request, services: Services, digest: str, headers: dict[str, str]
) -> Response:
    """Answer with stored bytes; 304 if the reader has them. Raises BlobMissing."""
    if is_unchanged(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(await services.blobs.get(digest), headers=headers)


async def _send_text(services: Services, name: str, text: Mapping[str, Any]) -> Response:
    """Answer with a text of an event, which has the complete text or its digest."""
    digest = text.get("digest")
    content = await services.blobs.get(digest) if digest else text["text"].encode()
    headers = untrusted_headers(name, "text/plain", digest or "")
    if not digest:
        del headers["ETag"]
    return Response(content, headers=headers)
