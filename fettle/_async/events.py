"""The stream of a job's events, over broken connections."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from http import HTTPStatus
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
    """Every event after the number `after`, each once and in order, to the final one; with `live`,
    also the output of models and runs while it is written. Raises FettleError for a refusal, and
    for a failure that continues."""
    source = transport.source("GET", path)
    params = {"tokens": "true"} if live else {}
    failures = 0
    while True:
        failure: FettleError | None = None
        start = math.inf
        headers = {"Accept": MEDIA_TYPE, "Last-Event-ID": str(after)}
        try:
            async with transport.stream(
                "GET", path, SILENCE_SECONDS, params=params, headers=headers
            ) as response:
                if response.status_code == HTTPStatus.NO_CONTENT:
                    return  # the caller has the final event
                start = time.monotonic()
                async with aclosing(_read_stream(source, response, after)) as stream:
                    async for heard in stream:
                        failures = 0
                        yield heard
                        if isinstance(heard, ReceivedEvent):
                            after = heard.seq
                            if heard.final:
                                return
        except httpx.TransportError as broken:
            failure = transport.unreachable(broken)
        except httpx.HTTPStatusError as refused:
            failure = transport.refusal(source, refused.response)
            if refused.response.status_code not in PASSING:
                raise failure from None
        # A proxy may end each quiet connection, for example while the job waits for a person.
        failures = 1 if time.monotonic() - start > MOST_WAIT_SECONDS else failures + 1
        if failure is not None and failures > PATIENCE:
            raise failure
        await transport.sleep(min(0.1 * 2**failures, MOST_WAIT_SECONDS))


async def _read_stream(
    source: AnswerSource, response: httpx.Response, after: int
) -> AsyncGenerator[Heard, None]:
    """The content of one answer. Raises NotFettle, httpx.HTTPStatusError for a refusal, and
    httpx.TransportError."""
    try:
        if not response.is_success:
            await response.aread()
            response.raise_for_status()
        if not response.headers.get("content-type", "").startswith(MEDIA_TYPE):
            raise source.unexpected(f"is HTTP {response.status_code} without a stream of events")
        async for sent in EventSource(response).aiter_sse():
            if sent.event == "tokens":
                yield parse_object(source, sent.data, StreamedText)
            elif sent.id and sent.data:
                event = read_event(source, sent.data)
                if event.seq > after:
                    yield event
    except httpx.DecodingError as error:
        raise source.unexpected(f"cannot be decoded: {error}") from None
