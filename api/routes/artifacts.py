"""Artifacts of runs and tools, the complete texts of runs, and a job's recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from api import problems
from api.auth.caller import Reader
from api.http import links
from api.http.answers import as_json, unchanged, untrusted_headers
from api.openapi import BINARY, conditional, download, headers, responses
from api.problems import Refused
from api.schemas import patterns
from api.schemas.job import ArtifactList, Part
from api.services import Services, ServicesDep, find_job
from jobs.blobs.directory import digest_of
from jobs.view.recording import SUFFIX, recording
from jobs.view.work import find_artifact, find_repair, find_run, list_artifacts

router = APIRouter(tags=["artifacts"])

Version = Annotated[
    str | None,
    Query(
        pattern=patterns.DIGEST,
        description="the digest of an earlier version; else the newest",
    ),
]

RunId = Annotated[
    str, Path(pattern=r"^r[0-9]{1,9}$", description="the repairing run's id, such as `r3`")
]


def _text_responses(description: str, *rarer: str) -> dict[int | str, dict[str, Any]]:
    """The responses of a route that returns a stored text; `rarer` are media types that few
    generators of clients know."""
    kept = {
        "content": {each: {"schema": {"type": "string"}} for each in (*rarer, "text/plain")},
        "description": description,
        "headers": headers("ETag", "Content-Disposition"),
    }
    return {200: kept, **responses(problems.NOT_FOUND)}


@router.get(
    "/jobs/{job_id}/artifacts",
    operation_id="list_artifacts",
    response_model=ArtifactList,
    summary="List artifacts",
    responses=responses(problems.NOT_FOUND),
)
async def listing(job_id: str, services: ServicesDep, caller: Reader) -> Response:
    """The files that the job's runs and tools made, each in its newest version."""
    await find_job(services, caller, job_id)
    made = list_artifacts(await services.store.events(job_id))
    listed = links.with_hrefs(job_id, made.values())
    return as_json(ArtifactList.model_validate({"artifacts": listed}))


@router.get(
    "/jobs/{job_id}/artifacts/{name:path}",
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
    caller: Reader,
    digest: Version = None,
) -> Response:
    """The bytes, with their type, and their digest as ETag; never active content."""
    await find_job(services, caller, job_id)
    events = await services.store.events(job_id)
    made = find_artifact(events, name, digest) if digest else list_artifacts(events).get(name)
    if made is None:
        raise Refused(problems.NOT_FOUND, "this job has no such artifact")
    sent = untrusted_headers(name, made["media_type"], made["digest"])
    if unchanged(request, made["digest"]):
        return Response(status_code=304, headers=sent)
    return Response(await services.blobs.get(made["digest"]), headers=sent)


@router.get(
    "/jobs/{job_id}/runs/{number}/{part}",
    operation_id="read_run_text",
    summary="Read a run's complete text",
    response_class=PlainTextResponse,
    responses=_text_responses("The stored text"),
)
async def run_text(
    job_id: str, number: int, part: Part, services: ServicesDep, caller: Reader
) -> Response:
    """The code, stdout or stderr of a run. The job shows only the head and tail of a long one."""
    await find_job(services, caller, job_id)
    run = find_run(await services.store.events(job_id), number)
    if run is None:
        raise Refused(problems.NOT_FOUND, f"the job has no run {number}")
    return await _text(services, f"{part}.txt", run[part])


@router.get(
    "/jobs/{job_id}/repairs/{run}/diff",
    operation_id="read_repair_diff",
    summary="Read a repair's complete diff",
    response_class=PlainTextResponse,
    responses=_text_responses("The stored diff"),
)
async def repair_diff(job_id: str, run: RunId, services: ServicesDep, caller: Reader) -> Response:
    """All changes between a failed run and its repair; `run` is the repairing run's id."""
    await find_job(services, caller, job_id)
    repair = find_repair(await services.store.events(job_id), run)
    if repair is None:
        raise Refused(problems.NOT_FOUND, f"the job has no repair {run}")
    return await _text(services, f"{run}.diff.txt", repair["diff"])


async def _text(services: Services, name: str, kept: Mapping[str, Any]) -> Response:
    digest = kept.get("digest")
    content = await services.blobs.get(digest) if digest else kept["text"].encode()
    sent = untrusted_headers(name, "text/plain", digest or "")
    if not digest:
        del sent["ETag"]
    return Response(content, headers=sent)


@router.get(
    "/jobs/{job_id}/recording",
    operation_id="download_recording",
    summary="Download the recording",
    response_class=Response,
    responses=_text_responses("The recording so far", "application/yaml"),
)
async def recorded(job_id: str, services: ServicesDep, caller: Reader) -> Response:
    """The job's model requests and replies, without secrets; 404 if it was not recorded. It holds
    only this job's prompts."""
    await find_job(services, caller, job_id)
    content = await recording(job_id, await services.store.events(job_id), services.blobs)
    if content is None:
        detail = "this job was not recorded: submit it with `record`, or set FETTLE_RECORD"
        raise Refused(problems.NOT_FOUND, detail)
    sent = untrusted_headers(f"{job_id}{SUFFIX}", "application/yaml", digest_of(content))
    return Response(content, headers=sent)
