"""A job's events: a stream that can be resumed, or a list."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.sse import EventSourceResponse, format_sse_event

from api import problems
from api.auth.access_recheck import AccessRecheck
from api.auth.caller import Reader, holder, stamp_of
from api.http.answers import without_stream
from api.http.token_stream import with_tokens
from api.openapi import responses
from api.schemas import patterns
from api.schemas.event import EventList
from api.services import Services, ServicesDep, find_job
from jobs.errors import StoreUnavailable
from jobs.model.codec import dump
from jobs.model.events import Event
from jobs.view.job import render_event

log = structlog.get_logger(__name__)
router = APIRouter(tags=["events"])

# Lines without a blank line after them: some clients read every blank line as an event.
RECONNECT = b"retry: 1000\n"
HEARTBEAT = b": still here\n"
BROKEN = b": the record is unavailable: connect again\n"
CHUNK_BYTES = 64 * 1024
CLOSING = b": the server stops: connect again\n"
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
    after: Annotated[int, Query(ge=0, le=2**53, description="events above this number")] = 0,
    last_event_id: Annotated[
        str | None,
        Header(pattern=patterns.LAST_EVENT_ID, description="the last event of a broken stream"),
    ] = None,
    form: Annotated[
        Literal["stream", "json"],
        Query(alias="format", description="json: the events so far, like `Accept`"),
    ] = "stream",
    tokens: Annotated[
        bool, Query(description="also send the models' output while it is generated, as `tokens`")
    ] = False,
) -> Response:
    """Server-Sent Events from the first, or from your last one; ends after the final event.

    Comment lines keep an idle stream open. When it ends without a final event (the server
    restarts), connect again with `Last-Event-ID`: no event is missed or repeated. 204: you have the
    final event already. When your key is revoked, the stream ends within two seconds.

    With `tokens=true` the stream also has `event: tokens`, without an id: {call, role, part, text,
    try}. `part` is `text`, `reasoning` or `tool` (a call's arguments, as JSON). A higher `try` of
    the same call replaces the earlier text. Tokens are not stored: a reader gets those that are
    generated while it is connected. The complete reply is in the events.
    """
    loaded = await find_job(services, caller, job_id)
    start = max(after, int(last_event_id or 0))
    if form == "json" or "application/json" in request.headers.get("accept", ""):
        return _listed(await services.store.events(job_id, start))
    if loaded.record.status.final and not await services.store.events(job_id, start, limit=1):
        return Response(status_code=204)  # an EventSource does not connect again after it
    services.streams.check(caller.id)
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}

    async def stays() -> bool:
        return await holder(services, caller.id, stamp_of(services.settings, caller)) is not None

    chunks = _encoded_events(services, job_id, start)
    if tokens:
        chunks = with_tokens(services, job_id, chunks)
    guarded = AccessRecheck(stays).guard(chunks)
    stream = _stream(services, caller.id, job_id, guarded)
    return without_stream(request, EventSourceResponse(stream, headers=headers))


async def _encoded_events(services: Services, job_id: str, after: int) -> AsyncIterator[bytes]:
    async for facts in _followed(services, job_id, after):
        for chunk in _chunks(facts):
            yield chunk


async def _stream(
    services: Services, key_id: str, job_id: str, chunks: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    with services.metrics.streams.track_inprogress(), services.streams.held(key_id):
        yield RECONNECT
        try:
            async for chunk in chunks:
                yield chunk
        except StoreUnavailable as error:
            log.warning("stream broken", job_id=job_id, error=str(error))
            yield BROKEN
        if services.closing.is_set():
            yield CLOSING


async def _followed(services: Services, job_id: str, after: int) -> AsyncIterator[Sequence[Event]]:
    """Events as they arrive, an empty batch at each heartbeat without any; until the final one."""
    while not services.closing.is_set():
        facts = await next_events(
            services, job_id, after, services.settings.stream_heartbeat_seconds
        )
        if facts or not services.closing.is_set():
            yield facts
        if facts:
            after = facts[-1].seq
            over = facts[-1].final
        else:
            # `after` may be a number that no event will exceed
            loaded = await services.store.load(job_id)
            ended = loaded is None or loaded.record.status.final
            # the job may have ended after the wait: its last events are still to be sent
            over = ended and not await services.store.events(job_id, after, limit=1)
        if over:
            return


async def next_events(
    services: Services, job_id: str, after: int, seconds: float
) -> Sequence[Event]:
    """The next events; none after so many seconds without any, or when the server stops."""
    waiting = asyncio.ensure_future(services.store.wait_events(job_id, after, seconds))
    closing = asyncio.ensure_future(services.closing.wait())
    try:
        await asyncio.wait((waiting, closing), return_when=asyncio.FIRST_COMPLETED)
        return waiting.result() if waiting.done() else ()
    finally:
        closing.cancel()
        waiting.cancel()
        await asyncio.gather(waiting, closing, return_exceptions=True)


def _chunks(facts: Sequence[Event]) -> Iterator[bytes]:
    """Events in chunks of limited size; without any, a heartbeat."""
    chunk = b"" if facts else HEARTBEAT
    for fact in facts:
        chunk += _encoded(fact)
        if len(chunk) >= CHUNK_BYTES:
            yield chunk
            chunk = b""
    if chunk:
        yield chunk


def _encoded(fact: Event) -> bytes:
    data = dump(render_event(fact))
    return format_sse_event(data_str=data, event=fact.kind, id=str(fact.seq))


def _listed(facts: Sequence[Event]) -> Response:
    """An EventList of the stored events: an older release's may lack fields of this one."""
    listed = {
        "events": [render_event(fact) for fact in facts],
        "final": any(f.final for f in facts),
    }
    return Response(dump(listed), media_type="application/json")
