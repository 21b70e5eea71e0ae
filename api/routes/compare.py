"""The comparison of jobs, such as the forks of one job by several models."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from api import problems
from api.auth.caller import Reader
from api.http.answers import as_json
from api.openapi import responses
from api.schemas.outcome import ComparedFile, Comparison, Difference, Outcome
from api.services import ServicesDep
from api.threads import compare_with_first, find_compared_jobs, load_jobs
from jobs.view.patch import PatchFile

router = APIRouter(tags=["jobs"])

JobIds = Annotated[
    str,
    Query(
        pattern=r"^[0-9a-f]{20}(,[0-9a-f]{20}){1,5}$",
        description="the ids of two to six different jobs, separated by commas",
    ),
]


@router.get(
    "/compare",
    operation_id="compare_jobs",
    response_model=Comparison,
    summary="Compare jobs",
    responses=responses(problems.NOT_FOUND),
)
async def compare(jobs: JobIds, services: ServicesDep, caller: Reader) -> Response:
    """Verdict, checks, cost, running time and model calls of each job, and how the present files of
    each differ from those of the first."""
    records = await find_compared_jobs(services, caller, jobs)
    outcomes = [Outcome(**job["outcome"]) for job in await load_jobs(services, records)]
    differences = [
        Difference(job_id=record.id, files=list(map(_compared_file, files)), problem=problem)
        for record, files, problem in await compare_with_first(services, records)
    ]
    return as_json(Comparison(jobs=outcomes, differences=differences))


def _compared_file(file: PatchFile) -> ComparedFile:
    diff = "".join(f"{row.text}\n" for row in file.rows)
    return ComparedFile(path=file.path, notes=list(file.notes), diff=diff, unread=file.unread)
