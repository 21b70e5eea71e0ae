"""ReplyReader: reads one response to the end of its reply, within the time limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import reprlib
from collections.abc import Iterator
from typing import Any

import httpx

from agents.errors import ModelUnavailable
from agents.models.call_context import CallContext
from agents.models.error_mapping.from_response import unreadable
from agents.models.streams import StreamProtocol
from agents.models.streams.reported import reported_tokens, with_counts
from agents.models.transport.event_stream import BodyReader
from agents.models.transport.time_limits import RequestClock
from agents.surrogates import fix_surrogates

# Raised when JSON has an unexpected shape, or is nested too deeply.
_MISSHAPEN = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
_USUAL_CHARACTERS = 4
"""The characters of a usual token."""


class ReplyReader:
    """Reads the response of one request."""

    def __init__(
        self, protocol: StreamProtocol, call: CallContext, clock: RequestClock, kind: str
    ) -> None:
        self._protocol = protocol
        self._assembler = protocol.assembler()
        self._call = call
        self._clock = clock
        self._kind = kind
        self._body = BodyReader(kind)
        self._first: dict[str, Any] = {}

    async def read(self, response: httpx.Response) -> dict[str, Any]:
        """The complete reply. Raises ModelError, also for a time limit, and httpx.TransportError.

        The call notes its usage in any case, because the reply is paid for.
        """
        try:
            return await self._read(response)
        finally:
            self._call.received = self._clock.tokens
            with contextlib.suppress(*_MISSHAPEN):
                self._call.usage = reported_tokens(with_counts(self._assembler.result()))

    async def _read(self, response: httpx.Response) -> dict[str, Any]:
        """A reply is complete if its end has come, even if the connection then breaks or stays
        open."""
        now = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout_at(self._clock.deadline) as timeout:
                async for chunk in response.aiter_bytes():
                    self._call.has_begun = True
                    tokens = sum(map(self._feed, self._body.feed(chunk)))
                    self._clock.receive(now(), tokens, ended=self._ended, closed=self._body.done)
                    timeout.reschedule(self._clock.deadline)
        except TimeoutError as error:
            if not self._ended:
                raise self._clock.error() from error
        except httpx.TransportError:
            if not self._ended:
                raise
        for event in self._body.close():
            self._feed(event)
        if not self._ended:
            raise ModelUnavailable("the reply broke off", status=200)
        with expected_shape(self._kind, self._first):
            reply: dict[str, Any] = fix_surrogates(with_counts(self._assembler.result()))
            if not self._protocol.is_reply(reply):
                raise unreadable(self._kind, json.dumps(self._first))
            return reply

    @property
    def _ended(self) -> bool:
        return self._assembler.ended or self._body.done

    def _feed(self, event: dict[str, Any]) -> int:
        """Add an event; returns about how many tokens it has."""
        self._first = self._first or event
        with expected_shape(self._kind, event):
            chunks = self._assembler.feed(event)
            if not all(isinstance(chunk.text, str) for chunk in chunks):
                raise unreadable(self._kind, json.dumps(event))
        if chunks and self._call.listener is not None:
            self._call.listener.receive(chunks)
        return sum(-(-len(chunk.text) // _USUAL_CHARACTERS) for chunk in chunks)


@contextlib.contextmanager
def expected_shape(kind: str, read: Any) -> Iterator[None]:
    """JSON that is read within the block is external: with an unexpected shape it is no reply."""
    try:
        yield
    except _MISSHAPEN as error:
        raise unreadable(kind, reprlib.repr(read)) from error
