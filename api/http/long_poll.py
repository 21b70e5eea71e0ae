"""Long polls: a request waits until a job pauses, instead of asking again and again."""

from __future__ import annotations

import time

from fastapi import Request

from api.auth.caller import check_still_valid
from api.http.event_stream import first_of, next_events
from api.services import Services, find_job
from jobs.model.credentials import Credential
from jobs.model.record import JobRecord, Status
from jobs.store import Loaded

MAX_WAIT_SECONDS = 60
WAITED = "fettle.waited_seconds"
"""The key of a scope with the time for which its request waited."""


async def wait_for_pause(
    request: Request, services: Services, caller: Credential, job_id: str, seconds: float
) -> Loaded:
    """The job when it has ended or waits for a person. The wait ends after `seconds`, when the
    client leaves, and when the server stops. It takes a slot of an event stream. Raises
    RefusedRequest: 401, 404, 429, 503."""
    began_at = time.monotonic()
    with services.streams.slot(caller.id):
        waiting = _wait_for_pause(services, caller, job_id, seconds)
        paused = await first_of(waiting, _leave(request))
    request.scope[WAITED] = time.monotonic() - began_at
    if paused is None:
        return await find_job(services, caller, job_id)
    await check_still_valid(services, caller)
    return paused


async def _wait_for_pause(
    services: Services, caller: Credential, job_id: str, seconds: float
) -> Loaded:
    deadline = time.monotonic() + seconds
    last = await services.store.count_events(job_id)
    while True:
        loaded = await find_job(services, caller, job_id)
        remaining_seconds = deadline - time.monotonic()
        if _is_paused(loaded.record) or remaining_seconds <= 0 or services.closing.is_set():
            return loaded
        # a change of the state has an event in the same commit
        events = await next_events(services, job_id, last, remaining_seconds)
        last = events[-1].seq if events else last


def _is_paused(record: JobRecord) -> bool:
    return record.status.final or record.status is Status.AWAITING_REVIEW


async def _leave(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
