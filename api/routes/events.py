"""A job's events: a stream that can be resumed, or a list."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.sse import format_sse_event

from api import problems
from api.auth.caller import Reader, is_still_valid
from api.http.event_stream import (
    HEARTBEAT,
    next_events,
    stream_response,
    with_tokens,
)
from api.http.long_poll import MAX_WAIT_SECONDS, hold
from api.openapi import responses
from api.schemas import patterns
from api.schemas.event import EventList
from api.services import Services, ServicesDep, find_job
from jobs.model.codec import dump
from jobs.model.events import Event
from jobs.view.job import render_event

router = APIRouter(tags=["events"])

CHUNK_BYTES = 64 * 1024
_REFUSALS = (problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY)
_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The stream: `id` is the event's number, `event` its kind (EventKind), "
        "`data` the event as JSON (Event). With `format=json` or `Accept: application/json`: the "
        "list.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: submitted\ndata: {"seq":1,"at":"2026-11-21T12:00:00.000Z",'
                '"kind":"submitted","data":{"by":"ada"}}\nid: 1\n\n',
            }
        },
    },
    204: {"description": "You have the final event already"},
}


@router.get(
    "/jobs/{job_id}/events",
    operation_id="follow_job",
    response_model=EventList,
    summary="Follow a job",
    responses={**_STREAM, **responses(problems.NOT_FOUND, *_REFUSALS)},
)
async def events(
    job_id: str,
    request: Request,
    services: ServicesDep,
    caller: Reader,
    *,
    after: Annotated[int, Query(ge=0, le=2**53, description="events above this number")] = 0,
    last_event_id: Annotated[
        str | None,
        Header(pattern=patterns.LAST_EVENT_ID, description="the last event of a broken stream"),
    ] = None,
    form: Annotated[
        Literal["stream", "json"],
        Query(alias="format", description="json: the events so far, like `Accept`"),
    ] = "stream",
    wait: Annotated[
        int,
        Query(
            ge=0,
            le=MAX_WAIT_SECONDS,
            description="of a list: seconds to wait for an event above `after`",
        ),
    ] = 0,
    tokens: Annotated[
        bool,
        Query(description="also send the output of models and runs while it is written"),
    ] = False,
) -> Response:
    """Server-Sent Events from the first, or from your last one; ends after the final event.

    Comment lines keep an idle stream open. When it ends without a final event (the server
    restarts), connect again with `Last-Event-ID`: no event is missed or repeated. 204: you have the
    final event already. When your key is revoked, the stream ends within two seconds.

    With `tokens=true` the stream also has `event: tokens`, without an id: {call, role, part, text,
    try}. `part` is `text`, `reasoning` or `tool` (a call's arguments, as JSON). A higher `try` of
    the same call replaces the earlier text. A run in progress has the part `output`: `call` is the
    run's id, `role` its tool, `text` its last lines, and {command, seconds} follow. Tokens are not
    stored: a reader gets those that are written while it is connected. The complete reply and the
    complete run are in the events.
    """
    loaded = await find_job(services, caller, job_id)
    start = max(after, int(last_event_id or 0))
    if form == "json" or "application/json" in request.headers.get("accept", ""):
        events = await services.store.events(job_id, start)
        if wait and not events and not loaded.record.status.final:
            arrival = partial(next_events, services, job_id, start, wait)
            events = await hold(request, services, caller, arrival) or ()
        return _event_list(events)
    if loaded.record.status.final and not await services.store.events(job_id, start, limit=1):
        return Response(status_code=204)  # an EventSource does not connect again after it
    services.streams.check(caller.id)
    chunks = _follow(services, job_id, start)
    if tokens:
        chunks = with_tokens(services, job_id, chunks)
    has_access = partial(is_still_valid, services, caller)
    return stream_response(request, services, caller.id, chunks, has_access)


async def _follow(services: Services, job_id: str, after: int) -> AsyncIterator[bytes]:
    """The events above the number `after` as they arrive, until the final one; at each heartbeat
    without an event, a comment line."""
    heartbeat_seconds = services.settings.stream_heartbeat_seconds
    while not services.closing.is_set():
        events = await next_events(services, job_id, after, heartbeat_seconds)
        if events or not services.closing.is_set():
            for chunk in _chunks(events):
                yield chunk
        if events:
            after = events[-1].seq
            is_over = events[-1].final
        else:
            # `after` may be a number that no event will exceed.
            loaded = await services.store.load(job_id)
            is_final = loaded is None or loaded.record.status.final
            # The job may have ended after the wait: then its last events are sent next.
            is_over = is_final and not await services.store.events(job_id, after, limit=1)
        if is_over:
            return


def _chunks(events: Sequence[Event]) -> Iterator[bytes]:
    """Events in chunks of limited size; a heartbeat if the sequence is empty."""
    chunk = b"" if events else HEARTBEAT
    for event in events:
        data = dump(render_event(event))
        chunk += format_sse_event(data_str=data, event=event.kind, id=str(event.seq))
        if len(chunk) >= CHUNK_BYTES:
            yield chunk
            chunk = b""
    if chunk:
        yield chunk


def _event_list(events: Sequence[Event]) -> Response:
    """An EventList of the stored events. It is not validated, because the events of an older
    release may lack fields of this release."""
    rows = [render_event(event) for event in events]
    body = {"events": rows, "final": any(event.final for event in events)}
    return Response(dump(body), media_type="application/json")
