"""Artifacts: what runs and tools have made, and the whole texts of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse

from api import problems
from api.auth.caller import Reader
from api.http import links
from api.http.answers import as_json, unchanged, untrusted_headers
from api.openapi import conditional, download, headers, responses
from api.problems import Refused
from api.routes.found import found
from api.schemas import patterns
from api.schemas.run import Artifact, ArtifactList, Part
from api.services import Services, ServicesDep
from jobs import view

router = APIRouter(tags=["artifacts"])

Version = Annotated[
    str | None,
    Query(
        pattern=patterns.DIGEST,
        description="an earlier version, as a run names it; else the newest",
    ),
]

RunId = Annotated[
    str, Path(pattern=r"^r[0-9]{1,9}$", description="the run that was the repair, as `r3`")
]


@router.get(
    "/jobs/{job_id}/artifacts",
    operation_id="list_artifacts",
    response_model=ArtifactList,
    summary="List artifacts",
    responses=responses(problems.NOT_FOUND),
)
async def listing(job_id: str, house: ServicesDep, caller: Reader) -> Response:
    """The files that the job's runs and tools have made: of each its newest version."""
    await found(house, caller, job_id)
    made = view.artifacts(await house.store.events(job_id))
    listed = [Artifact(**one, href=links.artifact(job_id, one["name"])) for one in made.values()]
    return as_json(ArtifactList(artifacts=listed))


@router.get(
    "/jobs/{job_id}/artifacts/{name:path}",
    operation_id="download_artifact",
    summary="Download an artifact",
    response_class=Response,
    responses={
        **download("The bytes, with their type", "application/octet-stream", "*/*"),
        **responses(problems.NOT_FOUND),
    },
    openapi_extra=conditional(),
)
async def artifact(
    job_id: str,
    name: str,
    request: Request,
    house: ServicesDep,
    caller: Reader,
    digest: Version = None,
) -> Response:
    """Its bytes, with its type and its digest as ETag; never active content."""
    await found(house, caller, job_id)
    events = await house.store.events(job_id)
    made = view.version(events, name, digest) if digest else view.artifacts(events).get(name)
    if made is None:
        raise Refused(problems.NOT_FOUND, "this job has made no such file")
    sent = untrusted_headers(name, made["media_type"], made["digest"])
    if unchanged(request, made["digest"]):
        return Response(status_code=304, headers=sent)
    return Response(await house.blobs.get(made["digest"]), headers=sent)


@router.get(
    "/jobs/{job_id}/runs/{number}/{part}",
    operation_id="read_run_text",
    summary="Read a run's whole text",
    response_class=PlainTextResponse,
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "The text, as it was kept",
            "headers": headers("ETag", "Content-Disposition"),
        },
        **responses(problems.NOT_FOUND),
    },
)
async def run_text(
    job_id: str, number: int, part: Part, house: ServicesDep, caller: Reader
) -> Response:
    """The code, stdout or stderr of a run; of a long one the job shows head and tail."""
    await found(house, caller, job_id)
    run = view.run(await house.store.events(job_id), number)
    if run is None:
        raise Refused(problems.NOT_FOUND, f"the job has no run {number}")
    return await _text(house, f"{part}.txt", run[part])


@router.get(
    "/jobs/{job_id}/repairs/{run}/diff",
    operation_id="read_repair_diff",
    summary="Read a repair's whole diff",
    response_class=PlainTextResponse,
    responses={
        200: {
            "content": {"text/plain": {"schema": {"type": "string"}}},
            "description": "The diff, as it was kept",
            "headers": headers("ETag", "Content-Disposition"),
        },
        **responses(problems.NOT_FOUND),
    },
)
async def repair_diff(job_id: str, run: RunId, house: ServicesDep, caller: Reader) -> Response:
    """All that was changed between a failed run and its repair; `run` is the repair's id."""
    await found(house, caller, job_id)
    repair = view.repair(await house.store.events(job_id), run)
    if repair is None:
        raise Refused(problems.NOT_FOUND, f"the job has no repair {run}")
    return await _text(house, f"{run}.diff.txt", repair["diff"])


async def _text(house: Services, name: str, kept: Mapping[str, Any]) -> Response:
    digest = kept.get("digest")
    content = await house.blobs.get(digest) if digest else kept["text"].encode()
    sent = untrusted_headers(name, "text/plain", digest or "")
    if not digest:
        del sent["ETag"]
    return Response(content, headers=sent)
