"""Long polls: a request waits for a job, so that its client need not poll."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import Request

from api.auth.caller import check_still_valid, is_still_valid
from api.http.event_stream import RECHECK_SECONDS, first_of, next_events
from api.services import Services, find_job
from jobs.model.credentials import Credential
from jobs.model.record import Status
from jobs.store import Loaded

T = TypeVar("T")
MAX_WAIT_SECONDS = 60
WAITED = "fettle.waited_seconds"
"""The key of a scope with the time for which its request waited."""


async def hold(
    request: Request,
    services: Services,
    caller: Credential,
    wait: Callable[[], Awaitable[T]],
) -> T | None:
    """The result of `wait`; None if the client leaves before. A wait takes a slot of an event
    stream, and outlives the check of its key: it ends soon after the key was revoked. Raises
    RefusedRequest: 401, 429, 503."""
    started_at = time.monotonic()
    with services.streams.slot(caller.id):
        result = await first_of(wait(), _end_of_access(request, services, caller))
    request.scope[WAITED] = time.monotonic() - started_at
    await check_still_valid(services, caller)
    return result


async def wait_for_pause(
    services: Services, caller: Credential, job_id: str, seconds: float
) -> Loaded:
    """The job when it has ended or waits for a person, after `seconds`, or when the server stops.
    Raises RefusedRequest: 404."""
    deadline = time.monotonic() + seconds
    last = await services.store.count_events(job_id)
    while True:
        loaded = await find_job(services, caller, job_id)
        remaining_seconds = deadline - time.monotonic()
        is_over = remaining_seconds <= 0 or services.closing.is_set()
        if is_over or loaded.record.status.final or loaded.record.status is Status.AWAITING_REVIEW:
            return loaded
        # a change of the state has an event in the same commit
        events = await next_events(services, job_id, last, remaining_seconds)
        last = events[-1].seq if events else last


async def _end_of_access(request: Request, services: Services, caller: Credential) -> None:
    """Return when the client has closed the connection, or when its key is not valid any more."""
    while True:
        try:
            message = await asyncio.wait_for(request.receive(), RECHECK_SECONDS)
        except TimeoutError:
            if not await is_still_valid(services, caller):
                return
        else:
            if message["type"] == "http.disconnect":
                return
