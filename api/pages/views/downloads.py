"""Downloads of a job's bytes for a browser, which has a session and no key.

Nothing from a model is active content here. Pictures have plain formats or are SVG, which runs no
script and loads nothing as a picture, and is a download when it is opened directly. Everything else
is a download or plain text.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from api import problems
from api.http.answers import unchanged, untrusted_headers
from api.pages.visitor import Reader
from api.problems import Refused
from api.routes import artifacts, files
from api.schemas.job import Part
from api.services import ServicesDep, find_job

router = APIRouter(prefix="/jobs/{job_id}")

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})


@router.get("/pictures/{digest}")
async def picture(
    job_id: str, digest: str, request: Request, services: ServicesDep, visitor: Reader
) -> Response:
    """A picture of this job's runs, in any version."""
    await find_job(services, visitor.credential, job_id)
    made = next(
        (
            artifact
            for fact in await services.store.events(job_id)
            for artifact in fact.data.get("artifacts", ())
            if artifact["digest"] == digest and artifact["media_type"] in PICTURES
        ),
        None,
    )
    if made is None:
        raise Refused(problems.NOT_FOUND, "this job has no such picture")
    headers = untrusted_headers(made["name"], made["media_type"], digest)
    headers["Cache-Control"] = "private, max-age=31536000, immutable"
    if unchanged(request, digest):
        return Response(status_code=304, headers=headers)
    return Response(await services.blobs.get(digest), headers=headers)


@router.get("/artifacts/{name:path}")
async def artifact(
    job_id: str, name: str, request: Request, services: ServicesDep, visitor: Reader
) -> Response:
    """The newest version of an artifact."""
    return await artifacts.artifact(job_id, name, request, services, visitor.credential)


@router.get("/files.tar.gz")
async def archive(
    job_id: str, request: Request, services: ServicesDep, visitor: Reader
) -> Response:
    """All files of the workspace."""
    return await files.archive(job_id, request, services, visitor.credential)


@router.get("/files/{path:path}")
async def file(
    job_id: str, path: str, request: Request, services: ServicesDep, visitor: Reader
) -> Response:
    """A file of the workspace."""
    return await files.file(job_id, path, request, services, visitor.credential)


@router.get("/patch")
async def patch(job_id: str, request: Request, services: ServicesDep, visitor: Reader) -> Response:
    """What the job has changed in its repository."""
    return await files.patch(job_id, request, services, visitor.credential)


@router.get("/bundle")
async def bundle(job_id: str, request: Request, services: ServicesDep, visitor: Reader) -> Response:
    """The same as a git bundle."""
    return await files.bundle(job_id, request, services, visitor.credential)


@router.get("/runs/{number}/{part}")
async def run_text(
    job_id: str, number: int, part: Part, services: ServicesDep, visitor: Reader
) -> Response:
    """The complete code or output of a run."""
    return await artifacts.run_text(job_id, number, part, services, visitor.credential)


@router.get("/repairs/{run}/diff")
async def repair_diff(
    job_id: str, run: artifacts.RunId, services: ServicesDep, visitor: Reader
) -> Response:
    """The complete diff of a repair."""
    return await artifacts.repair_diff(job_id, run, services, visitor.credential)


@router.get("/recording")
async def recording(job_id: str, services: ServicesDep, visitor: Reader) -> Response:
    """The job's recording."""
    return await artifacts.recorded(job_id, services, visitor.credential)
