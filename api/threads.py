"""Several jobs together: the jobs of a conversation, and jobs that are compared."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from api import problems
from api.changes import compare_jobs
from api.http.field_errors import refuse
from api.problems import RefusedRequest
from api.schemas.problem import FieldError
from api.services import Services, find_job, fleet_for
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord
from jobs.store import JobPage
from jobs.view.job import render_job, render_summary
from jobs.view.outcome import outcome_of
from jobs.view.patch import PatchFile


async def load_jobs(services: Services, records: Sequence[JobRecord]) -> list[dict[str, Any]]:
    """The jobs in the form of `render_job`, each with its `outcome` in the form of
    `api.schemas.outcome`."""
    store, fleet = services.store, await fleet_for(services, records)
    events_of_jobs, charges_of_jobs, now = await asyncio.gather(
        asyncio.gather(*(store.events(record.id) for record in records)),
        asyncio.gather(*(store.charges(record.id) for record in records)),
        store.now(),
    )

    def render() -> list[dict[str, Any]]:
        jobs = []
        for record, events, charges in zip(records, events_of_jobs, charges_of_jobs, strict=True):
            job = render_job(record, events, charges, now, fleet)
            links = {"self": f"/jobs/{record.id}"}
            outcome = {**render_summary(record, charges, now, fleet), **outcome_of(job)}
            jobs.append({**job, "outcome": {**outcome, "links": links}})
        return jobs

    return await asyncio.to_thread(render)


async def find_compared_jobs(services: Services, caller: Credential, ids: str) -> list[JobRecord]:
    """The jobs with these ids, which are separated by commas. Raises RefusedRequest: 404, 422 for
    an id that is there twice."""
    job_ids = ids.split(",")
    if repeated := [job_id for job_id in dict.fromkeys(job_ids) if job_ids.count(job_id) > 1]:
        message = f"{repeated[0]} is there twice: name two to six different jobs"
        refuse([FieldError(field="jobs", message=message)])
    records = []
    for job_id in job_ids:
        try:
            records.append((await find_job(services, caller, job_id)).record)
        except RefusedRequest as refused:
            detail = f"there is no job {job_id}: it was deleted, or its id is another"
            raise RefusedRequest(refused.kind, detail) from None
    return records


async def compare_with_first(
    services: Services, records: Sequence[JobRecord]
) -> list[tuple[JobRecord, Sequence[PatchFile], str]]:
    """Each job but the first, with the files that differ from those of the first, and the reason if
    they cannot be compared. Raises BlobMissing."""
    return [(record, *await compare_jobs(services, records[0], record)) for record in records[1:]]


async def find_conversation(
    services: Services, caller: Credential, conversation_id: str, limit: int, offset: int
) -> JobPage:
    """The newest jobs of a conversation, newest first. Jobs of earlier releases are not listed,
    except the first one. Raises RefusedRequest: 404."""
    page = await services.store.page(
        caller.tenant, limit=limit, offset=offset, conversation=conversation_id
    )
    if page.total:
        return page
    first = (await find_job(services, caller, conversation_id)).record
    if first.conversation_id != conversation_id:
        detail = f"there is no conversation {conversation_id}: it is a job of another"
        raise RefusedRequest(problems.NOT_FOUND, detail)
    return JobPage((first,), 1)
