"""Server-sent events: the frame of every stream, and between the events the output of models and
runs while it is written (`tokens`).

`routes.events` streams a job's events to programs, and `pages.views.live` a job's page to browsers.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog
from fastapi import Request, Response
from fastapi.sse import EventSourceResponse, format_sse_event

from api.http.answers import without_stream
from api.services import Services
from jobs.errors import StoreUnavailable
from jobs.model.codec import dump
from jobs.model.events import Event

log = structlog.get_logger(__name__)
T = TypeVar("T")

RECHECK_SECONDS = 2.0
"""The longest time that an open stream still sends data, and that a request still waits, after its
key was revoked. Documented in docs/operations.md."""
TOKENS = "tokens"
MAX_QUEUED_BATCHES = 64
"""Batches of tokens that a reader may be late. A slower reader misses the oldest."""
# Lines without a blank line after them: some clients read every blank line as an event.
RECONNECT = b"retry: 1000\n"
HEARTBEAT = b": still here\n"
BROKEN = b": the record is unavailable: connect again\n"
CLOSING = b": the server stops: connect again\n"


def stream_response(
    request: Request,
    services: Services,
    key_id: str,
    chunks: AsyncIterator[bytes],
    has_access: Callable[[], Awaitable[bool]],
) -> Response:
    """Answer with the chunks. The stream ends soon after the reader has lost access, and takes one
    of the slots of the key while it is open."""
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    framed = _frame(services, key_id, _while_access(chunks, has_access), request.url.path)
    return without_stream(request, EventSourceResponse(framed, headers=headers))


async def _frame(
    services: Services, key_id: str, chunks: AsyncIterator[bytes], path: str
) -> AsyncIterator[bytes]:
    with services.metrics.streams.track_inprogress(), services.streams.hold(key_id):
        yield RECONNECT
        try:
            async for chunk in chunks:
                yield chunk
        except StoreUnavailable as error:
            log.warning("stream broken", path=path, error=str(error))
            yield BROKEN
        if services.closing.is_set():
            yield CLOSING


async def _while_access(
    chunks: AsyncIterator[bytes], has_access: Callable[[], Awaitable[bool]]
) -> AsyncIterator[bytes]:
    """The chunks while the reader has access. A stream outlives the check of its request, so this
    checks again before a chunk, at most every `RECHECK_SECONDS`."""
    checked_at = time.monotonic()
    async for chunk in chunks:
        now = time.monotonic()
        if now - checked_at >= RECHECK_SECONDS:
            checked_at = now
            if not await has_access():
                return
        yield chunk


async def next_events(
    services: Services, job_id: str, after: int, seconds: float
) -> Sequence[Event]:
    """Wait for events above the number `after`. Returns no events if none arrived within `seconds`,
    or if the server stops."""
    events = services.store.wait_events(job_id, after, seconds)
    return await first_of(events, services.closing.wait()) or ()


async def first_of(work: Awaitable[T], stop: Awaitable[object]) -> T | None:
    """The result of `work`; None if `stop` has a result before. The other is cancelled."""
    working, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop)
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        stopping.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


Tokens = Mapping[str, Any]
"""A message {call, role, part, text, try} of `tokens`; of a run in progress with more fields."""


def _as_sent(tokens: Tokens) -> Tokens:
    return tokens


async def with_tokens(
    services: Services,
    job_id: str,
    chunks: AsyncIterator[bytes],
    render: Callable[[Tokens], Tokens] = _as_sent,
) -> AsyncIterator[bytes]:
    """The chunks as they arrive, and between them the job's tokens, as events without an id and in
    the form that `render` gives them."""
    async with services.store.tokens.subscribe(job_id) as queue:
        next_chunk = asyncio.ensure_future(_next(chunks))
        next_tokens = asyncio.ensure_future(queue.get())
        try:
            while True:
                await asyncio.wait((next_chunk, next_tokens), return_when=asyncio.FIRST_COMPLETED)
                if next_tokens.done():
                    yield _encode_tokens(next_tokens.result(), queue, render)
                    next_tokens = asyncio.ensure_future(queue.get())
                if next_chunk.done():
                    if (chunk := next_chunk.result()) is None:
                        return
                    yield chunk
                    next_chunk = asyncio.ensure_future(_next(chunks))
        finally:
            for task in (next_chunk, next_tokens):
                task.cancel()
            await asyncio.gather(next_chunk, next_tokens, return_exceptions=True)


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    """The next chunk; None at the end."""
    return await anext(chunks, None)


def _encode_tokens(
    batch: str, queue: asyncio.Queue[str], render: Callable[[Tokens], Tokens]
) -> bytes:
    """A batch of tokens, and the batches that are queued after it, as events."""
    batches = [batch]
    with contextlib.suppress(asyncio.QueueEmpty):
        while True:
            batches.append(queue.get_nowait())
    parts = (part for text in batches[-MAX_QUEUED_BATCHES:] if text for part in json.loads(text))
    return b"".join(format_sse_event(data_str=dump(render(part)), event=TOKENS) for part in parts)
