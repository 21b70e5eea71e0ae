"""Merges a model's streamed tokens into a job's event stream."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

from fastapi.sse import format_sse_event

from api.services import Services
from jobs.model.codec import dump

EVENT = "tokens"
MOST_MESSAGES = 64
"""Batches that a reader may lag; a slower reader misses the oldest."""


async def with_tokens(
    services: Services, job_id: str, events: AsyncIterator[bytes]
) -> AsyncIterator[bytes]:
    """`events` as they arrive, and between them the job's tokens, without an id."""
    async with services.store.tokens.subscribe(job_id) as queue:
        event = asyncio.ensure_future(_next(events))
        tokens = asyncio.ensure_future(queue.get())
        try:
            while True:
                await asyncio.wait((event, tokens), return_when=asyncio.FIRST_COMPLETED)
                if tokens.done():
                    yield _encoded(tokens.result(), queue)
                    tokens = asyncio.ensure_future(queue.get())
                if event.done():
                    if (chunk := event.result()) is None:
                        return
                    yield chunk
                    event = asyncio.ensure_future(_next(events))
        finally:
            for task in (event, tokens):
                task.cancel()
            await asyncio.gather(event, tokens, return_exceptions=True)


async def _next(events: AsyncIterator[bytes]) -> bytes | None:
    """The next chunk; None at the end."""
    return await anext(events, None)


def _encoded(message: str, queue: asyncio.Queue[str]) -> bytes:
    """A batch, and all that are queued after it."""
    batches = [message]
    with contextlib.suppress(asyncio.QueueEmpty):
        while True:
            batches.append(queue.get_nowait())
    parts = (each for batch in batches[-MOST_MESSAGES:] if batch for each in json.loads(batch))
    return b"".join(format_sse_event(data_str=dump(each), event=EVENT) for each in parts)
