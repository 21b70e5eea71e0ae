"""Recording: the model's side of a job, to be played back."""

from __future__ import annotations

from fastapi import APIRouter, Response

from api import problems
from api.auth.caller import Reader
from api.http.answers import untrusted_headers
from api.openapi import headers, responses
from api.problems import Refused
from api.routes.found import found
from api.services import ServicesDep
from jobs.blobs import digest_of
from jobs.recording import SUFFIX, recording

router = APIRouter(tags=["artifacts"])


@router.get(
    "/jobs/{job_id}/recording",
    operation_id="download_recording",
    summary="Download the recording",
    response_class=Response,
    responses={
        200: {
            "content": {"application/yaml": {"schema": {"type": "string"}}},
            "description": "As far as the job has come",
            "headers": headers("ETag", "Content-Disposition"),
        },
        **responses(problems.NOT_FOUND),
    },
)
async def download(job_id: str, house: ServicesDep, caller: Reader) -> Response:
    """What the job asked of its models and what they said, without secrets; 404 if it was not
    recorded. It holds this job's prompts and no other's."""
    await found(house, caller, job_id)
    content = await recording(job_id, await house.store.events(job_id), house.blobs)
    if content is None:
        said = "this job was not recorded: submit it with `record`, or set FETTLE_RECORD"
        raise Refused(problems.NOT_FOUND, said)
    sent = untrusted_headers(f"{job_id}{SUFFIX}", "application/yaml", digest_of(content))
    return Response(content, headers=sent)
