"""ReplyReader: reads one response to the end of its reply, within the time limits."""

from __future__ import annotations

import asyncio
import contextlib
import json
import reprlib
from collections.abc import Iterator
from typing import Any

import httpx

from agents.models.call_context import Listener
from agents.models.error_mapping.from_response import unreadable
from agents.models.errors import ModelUnavailable
from agents.models.replies.surrogates import fix_surrogates
from agents.models.streams import StreamProtocol
from agents.models.transport.event_stream import BodyReader

# Raised when JSON has an unexpected shape, or is nested too deeply.
_MISSHAPEN = (LookupError, TypeError, AttributeError, ValueError, RecursionError)
_USAGE_SECONDS = 10.0
"""How long usage figures may take after the end of the text. They come at once, if at all."""
_CLOSE_SECONDS = 1.0
"""How long the end of a response may take after its last event, so that the connection can be used
again."""


class ReplyReader:
    """Reads one response. `silence` is the longest time in seconds without a token."""

    def __init__(
        self, protocol: StreamProtocol, listener: Listener | None, silence: float, kind: str
    ) -> None:
        self._protocol = protocol
        self._assembler = protocol.assembler()
        self._listener = listener
        self._silence = silence
        self._kind = kind
        self._body = BodyReader(kind)
        self._first: dict[str, Any] = {}

    async def read(self, response: httpx.Response) -> dict[str, Any]:
        """The complete reply. Raises ModelError, httpx.TransportError, and TimeoutError.

        A reply is complete if its end has come, even if the connection then breaks or stays open.
        """
        try:
            async with asyncio.timeout(self._silence) as clock:
                async for chunk in response.aiter_bytes():
                    self._take(chunk, clock)
        except (TimeoutError, httpx.TransportError):
            if not self._ended:
                raise
        for event in self._body.close():
            self._feed(event)
        if not self._ended:
            raise ModelUnavailable("the reply broke off", status=200)
        with expected_shape(self._kind, self._first):
            reply: dict[str, Any] = fix_surrogates(self._assembler.result())
            if not self._protocol.is_reply(reply):
                raise unreadable(self._kind, json.dumps(self._first))
            return reply

    @property
    def _ended(self) -> bool:
        return self._assembler.ended or self._body.done

    def _take(self, chunk: bytes, clock: asyncio.Timeout) -> None:
        """Read the next bytes, and move the time limit."""
        if self._body.done:
            return
        had_ended = self._ended
        tokens = [self._feed(event) for event in self._body.feed(chunk)]
        if self._body.done:
            left = _CLOSE_SECONDS
        elif self._ended:
            left = _USAGE_SECONDS
        else:
            left = self._silence
        if any(tokens) or self._ended != had_ended or self._body.done:
            clock.reschedule(asyncio.get_running_loop().time() + left)

    def _feed(self, event: dict[str, Any]) -> bool:
        """Add an event; returns whether it has a token."""
        self._first = self._first or event
        with expected_shape(self._kind, event):
            chunks = self._assembler.feed(event)
            if not all(isinstance(chunk.text, str) for chunk in chunks):
                raise unreadable(self._kind, json.dumps(event))
        if chunks and self._listener is not None:
            self._listener.receive(chunks)
        return bool(chunks)


@contextlib.contextmanager
def expected_shape(kind: str, read: Any) -> Iterator[None]:
    """JSON that is read within the block is external: with an unexpected shape it is no reply."""
    try:
        yield
    except _MISSHAPEN as error:
        raise unreadable(kind, reprlib.repr(read)) from error
