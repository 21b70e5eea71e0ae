"""ProviderClient: the HTTP client for calls to providers. ReplyReader: reads one response to the
end of its reply, within the time limits.

See ADR 21.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import reprlib
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
from typing_extensions import override

from agents.errors import ModelError, ModelUnavailable
from agents.models.call_context import CALL, CallContext
from agents.models.capabilities.body import limit_output
from agents.models.capabilities.server import ModelServer
from agents.models.error_mapping.mapping import (
    at_address,
    error_from_response,
    error_from_transport,
    unreadable,
)
from agents.models.replies.fields import add_fields, take_fields
from agents.models.streams import StreamProtocol
from agents.models.streams.protocol import reported_tokens, with_counts
from agents.models.transport.event_stream import BodyReader
from agents.models.transport.sharded import ShardedTransport
from agents.models.transport.time_limits import RequestClock, Timeouts
from agents.texts import fix_surrogates

# A proxy in the environment has the same or a narrower pattern, comes before this one, and so is
# still used.
_ANYWHERE = "all://*"
# For such a proxy: a call must never wait for a free connection.
_LIMITS = httpx.Limits(max_connections=1_000, max_keepalive_connections=1_000)
# They describe the received body, not the returned one.
_OF_THE_BODY = frozenset(
    {"content-length", "content-encoding", "content-type", "transfer-encoding"}
)


class ProviderClient(httpx.AsyncClient):
    """Requests streams and returns complete replies; made by `connect`.

    Raises ModelError for anything that is no reply, because the client libraries differ: a proxy's
    HTML page is an AttributeError in groq's and an empty answer, counted as success, in
    google-genai's; openrouter's and ollama's lose the Retry-After of a 429.

    `shipped`: the address is a provider's public one, and not set by an operator. Such an address
    has a server, so a failed connection is an outage. The same rule applies to an address that has
    sent a reply.
    """

    def __init__(
        self,
        protocol: StreamProtocol,
        times: Timeouts,
        server: ModelServer,
        *,
        shipped: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(event_hooks={"request": [self._set_headers]}, **options)
        self._protocol = protocol
        self._times = times
        self._server = server
        self._shipped = shipped
        self._has_replied = False

    @override
    async def send(
        self, request: httpx.Request, *, stream: bool = False, **options: Any
    ) -> httpx.Response:
        """Send the request in the form that its server accepts (ADR 73)."""
        request = self._protocol.streamed(request)
        if not (content := await request.aread()):
            return await self._send_once(request, **options)
        written, call = json.loads(content), CALL.get()
        body = add_fields({**written, **self._protocol.asks}, call.history)
        if call.size.output_tokens:
            body = limit_output(body, call.size.output_tokens)

        async def send_form(form: Mapping[str, Any]) -> httpx.Response:
            sent = request if form == written else _with_body(request, form)
            return await self._send_once(sent, **options)

        try:
            return await self._server.send(body, send_form)
        except ModelError as error:
            located = at_address(error, request.url, proven=self._has_replied)
            if located is error:
                raise
            raise located from error

    async def read_json(self, url: str, seconds: float, headers: Mapping[str, str]) -> Any:
        """The JSON at a URL. For requests that call no model.

        Raises httpx.HTTPStatusError for a status that blames the client, httpx.TransportError if
        the server does not answer or cannot work now, and ValueError if the answer is not JSON or
        does not arrive in time.
        """
        try:
            request = self.build_request("GET", url, headers=headers, timeout=seconds)
        except httpx.InvalidURL as error:
            raise ValueError(str(error)) from error
        try:
            async with asyncio.timeout(2 * seconds):  # a server may send byte by byte
                response = await super().send(request, follow_redirects=False)
        except (TimeoutError, httpx.ReadTimeout) as error:
            raise ValueError("no whole answer in time") from error
        if response.is_server_error:  # it still loads the model, for example
            raise httpx.ReadError(f"status {response.status_code}", request=request)
        try:
            return response.raise_for_status().json()
        except RecursionError as error:
            raise ValueError("JSON that is nested too deeply") from error

    async def _set_headers(self, request: httpx.Request) -> None:
        """The operator's headers replace the client library's headers of the same name."""
        for name, value in self._server.headers.items():
            request.headers.pop(name, None)
            if value is not None:
                request.headers[name] = value

    async def _send_once(self, request: httpx.Request, **options: Any) -> httpx.Response:
        # The clients have other time limits, or none.
        wait = {"connect": self._times.connect, "read": None, "write": None, "pool": None}
        request.extensions = {**request.extensions, "timeout": wait}
        clock = RequestClock(self._times, CALL.get().size, asyncio.get_running_loop().time())
        try:
            response = await self._begin(request, clock, **options)
            try:
                return await self._read_reply(response, clock)
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            proven = self._has_replied or self._shipped
            no_server = error_from_transport(error, request.url, proven=proven)
            if no_server is None:
                raise
            raise no_server from error

    async def _begin(
        self, request: httpx.Request, clock: RequestClock, **options: Any
    ) -> httpx.Response:
        """The response, before its body. Raises ModelError for a status that is no success."""
        # A redirect would send the key to another server.
        options["follow_redirects"] = False
        try:
            async with asyncio.timeout_at(clock.deadline):
                response = await super().send(request, stream=True, **options)
                if response.is_success:
                    return response
                try:
                    raise error_from_response(await response.aread(), response)
                finally:
                    await response.aclose()
        except TimeoutError as error:
            raise clock.error() from error

    async def _read_reply(self, response: httpx.Response, clock: RequestClock) -> httpx.Response:
        kind = response.headers.get("content-type", "")
        reader = ReplyReader(self._protocol, CALL.get(), clock, kind)
        body = await reader.read(response)
        with expected_shape(kind, body):
            read_message = self._protocol.message
            if read_message is not None and (message := read_message(body)) is not None:
                CALL.get().fields = take_fields(message)
        CALL.get().delivered = self._has_replied = True
        headers = [(k, v) for k, v in response.headers.items() if k not in _OF_THE_BODY]
        return httpx.Response(
            200,
            headers=[*headers, ("content-type", self._protocol.content_type)],
            content=json.dumps(body).encode() + b"\n",
            request=response.request,
            extensions=response.extensions,
        )


def connect(
    tls: ssl.SSLContext,
    protocol: StreamProtocol,
    times: Timeouts | None = None,
    server: ModelServer | None = None,
    **options: Any,
) -> ProviderClient:
    """A client for one protocol. `options`: see httpx."""
    return ProviderClient(
        protocol,
        times or Timeouts(),
        server or ModelServer(),
        verify=tls,
        limits=_LIMITS,
        mounts={_ANYWHERE: ShardedTransport(tls)},
        **options,
    )


def _with_body(request: httpx.Request, body: Mapping[str, Any]) -> httpx.Request:
    """The request with another JSON body."""
    headers = [(k, v) for k, v in request.headers.items() if k not in _OF_THE_BODY]
    return httpx.Request(
        request.method,
        request.url,
        headers=[*headers, ("content-type", "application/json")],
        content=json.dumps(body).encode(),
        extensions=request.extensions,
    )


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
                    self._clock.receive(
                        now(), tokens, is_complete=self._is_complete, closed=self._body.done
                    )
                    timeout.reschedule(self._clock.deadline)
        except TimeoutError as error:
            if not self._is_complete:
                raise self._clock.error() from error
        except httpx.TransportError:
            if not self._is_complete:
                raise
        for event in self._body.close():
            self._feed(event)
        if not self._is_complete:
            raise ModelUnavailable("the reply broke off", status=200)
        with expected_shape(self._kind, self._first):
            reply: dict[str, Any] = fix_surrogates(with_counts(self._assembler.result()))
            if not self._protocol.is_reply(reply):
                raise unreadable(self._kind, json.dumps(self._first))
            return reply

    @property
    def _is_complete(self) -> bool:
        return self._assembler.is_complete or self._body.done

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
