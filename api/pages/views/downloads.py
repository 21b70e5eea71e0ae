"""Downloads: bytes of a job, as the API gives them, for whoever has a session and no key at hand.

Nothing that a model has written is ever active content here: pictures are of plain formats, or a
drawing (SVG), which as a picture runs no script and loads nothing, and is a download where it is
opened by itself; the rest goes to the disk or is plain text.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api import problems
from api.http.answers import unchanged, untrusted_headers
from api.pages.visitor import Reader
from api.problems import Refused
from api.routes import artifacts, files, recording
from api.routes.found import found
from api.schemas.run import Part
from api.services import ServicesDep

router = APIRouter(prefix="/jobs/{job_id}")

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})


@router.get("/pictures/{digest}")
async def picture(
    job_id: str, digest: str, request: Request, house: ServicesDep, visitor: Reader
) -> Response:
    """A picture that a run of this job has made, whichever version it was."""
    await found(house, visitor.credential, job_id)
    made = next(
        (
            artifact
            for fact in await house.store.events(job_id)
            for artifact in fact.data.get("artifacts", ())
            if artifact["digest"] == digest and artifact["media_type"] in PICTURES
        ),
        None,
    )
    if made is None:
        raise Refused(problems.NOT_FOUND, "this job has made no such picture")
    headers = untrusted_headers(made["name"], made["media_type"], digest)
    headers["Cache-Control"] = "private, max-age=31536000, immutable"
    if unchanged(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(await house.blobs.get(digest), headers=headers)


@router.get("/artifacts/{name:path}")
async def artifact(
    job_id: str, name: str, request: Request, house: ServicesDep, visitor: Reader
) -> Response:
    """The newest version of what the job has made."""
    return await artifacts.artifact(job_id, name, request, house, visitor.credential)


@router.get("/files.tar.gz")
async def archive(job_id: str, request: Request, house: ServicesDep, visitor: Reader) -> Response:
    """All files of the workspace."""
    return await files.archive(job_id, request, house, visitor.credential)


@router.get("/files/{path:path}")
async def file(
    job_id: str, path: str, request: Request, house: ServicesDep, visitor: Reader
) -> Response:
    """A file of the workspace."""
    return await files.file(job_id, path, request, house, visitor.credential)


@router.get("/runs/{number}/{part}")
async def run_text(
    job_id: str, number: int, part: Part, house: ServicesDep, visitor: Reader
) -> Response:
    """The whole code or output of a run."""
    return await artifacts.run_text(job_id, number, part, house, visitor.credential)


@router.get("/repairs/{run}/diff")
async def repair_diff(
    job_id: str, run: artifacts.RunId, house: ServicesDep, visitor: Reader
) -> Response:
    """The whole diff of a repair."""
    return await artifacts.repair_diff(job_id, run, house, visitor.credential)


@router.get("/recording")
async def written_down(job_id: str, house: ServicesDep, visitor: Reader) -> Response:
    """The model's side of the job."""
    return await recording.download(job_id, house, visitor.credential)
