"""The stream of a job's events, over broken connections."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import httpx
from httpx_sse import EventSource

from fettle._async.transport import AsyncTransport
from fettle.answers import AnswerSource, parse_object
from fettle.errors import FettleError
from fettle.events import ReceivedEvent, StreamedText, read_event

PATIENCE = 12
"""The failures in a row after which `follow` gives up, which takes about a minute."""
MOST_WAIT_SECONDS = 8.0
SILENCE_SECONDS = 60.0
"""The service sends a comment line more often than this. A stream that is silent for longer is
broken."""
MEDIA_TYPE = "text/event-stream"
PASSING = frozenset({429, 502, 503, 504})
Heard = ReceivedEvent | Mapping[str, Any]
"""An event, or the fields of a StreamedText."""


async def follow(
    transport: AsyncTransport, path: str, after: int, *, live: bool
) -> AsyncGenerator[Heard, None]:
    """Every event after `after`, each once and in order, to the final one; with `live`, also the
    output of models and runs while it is written. Raises FettleError for a refusal, and for a
    failure that continues."""
    source = transport.source("GET", path)
    failures = 0
    while True:
        failure: FettleError | None = None
        try:
            async with aclosing(_connection(transport, source, after, live=live)) as connection:
                async for heard in connection:
                    failures = 0
                    if isinstance(heard, ReceivedEvent):
                        if heard.seq <= after:
                            continue
                        after = heard.seq
                    yield heard
                    if isinstance(heard, ReceivedEvent) and heard.final:
                        return
        except httpx.TransportError as broken:
            failure = transport.unreachable(broken)
        except httpx.HTTPStatusError as refused:
            failure = transport.refusal(source, refused.response)
            if refused.response.status_code not in PASSING:
                raise failure from None
        failures += 1
        if failure is not None and failures > PATIENCE:
            raise failure
        await transport.sleep(min(0.1 * 2**failures, MOST_WAIT_SECONDS))


async def _connection(
    transport: AsyncTransport, source: AnswerSource, after: int, *, live: bool
) -> AsyncGenerator[Heard, None]:
    params = {"tokens": "true"} if live else {}
    headers = {"Accept": MEDIA_TYPE, "Last-Event-ID": str(after)}
    timeout = httpx.Timeout(SILENCE_SECONDS, connect=5.0)
    async with transport.stream(
        source.method, source.path, timeout, params=params, headers=headers
    ) as response:
        try:
            if not response.is_success:
                await response.aread()
                response.raise_for_status()
            if not response.headers.get("content-type", "").startswith(MEDIA_TYPE):
                text = f"is HTTP {response.status_code} without a stream of events"
                raise source.unexpected(text)
            async for sent in EventSource(response).aiter_sse():
                if sent.event == "tokens":
                    yield parse_object(source, sent.data, StreamedText)
                elif sent.id and sent.data:
                    yield read_event(source, sent.data)
        except httpx.DecodingError as error:
            raise source.unexpected(f"cannot be decoded: {error}") from None
