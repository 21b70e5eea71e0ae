"""A reading through the API: what any client can see of its own jobs. Indexes it cannot see."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import httpx

from cli.client.events import Event as ApiEvent
from cli.client.events import read_event
from drills.chaos.deployment.reading import JobRead, Reading
from jobs.model.events import Event
from jobs.model.record import Status

TOGETHER = 8


async def of_api(url: str, key: str, job_ids: Sequence[str]) -> Reading:
    """Read the jobs; one that the service does not know is left out."""
    gate = asyncio.Semaphore(TOGETHER)
    headers = {"X-API-Key": key}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=30.0) as http:

        async def one(job_id: str) -> JobRead | None:
            async with gate:
                return await _job(http, job_id)

        found = await asyncio.gather(*map(one, dict.fromkeys(job_ids)))
    return Reading({job.id: job for job in found if job is not None})


async def _job(http: httpx.AsyncClient, job_id: str) -> JobRead | None:
    answer = await http.get(f"/jobs/{job_id}")
    if answer.status_code == httpx.codes.NOT_FOUND:
        return None
    answer_body = answer.raise_for_status().json()
    return JobRead(
        id=job_id,
        status=Status(answer_body["status"]),
        attempts=answer_body["attempts"],
        crashes=answer_body["crashes"],
        events=await _events(http, job_id),
        reason=answer_body["reason"],
        review_id=answer_body["review"]["id"] if answer_body["review"] else None,
        retry_of=answer_body["spec"]["retry_of"],
    )


async def _events(http: httpx.AsyncClient, job_id: str) -> Sequence[Event]:
    headers = {"Accept": "application/json"}
    answer = await http.get(f"/jobs/{job_id}/events", headers=headers)
    listed = answer.raise_for_status().json()["events"]
    return tuple(_event(read_event(json.dumps(each))) for each in listed)


def _event(sent: ApiEvent) -> Event:
    return Event(sent.seq, round(sent.at.timestamp() * 1000), sent.kind, sent.data)
