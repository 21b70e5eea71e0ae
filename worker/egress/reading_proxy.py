"""Reading proxy: an HTTP proxy for code in a sandbox, which may read from an operator's hosts.

TLS ends here, by an authority that the code trusts for this run alone, and begins again to the
host, whose certificate is checked. So each request is seen: it reads, it goes to the host that was
checked, and it carries the operator's credential for that host, which the code does not get to
know. h11 parses what the code sends, and httpcore writes what the host gets: no byte of the one
is a byte of the other's framing. Of headers, the host gets those that reading needs.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import h11
import httpcore
import httpx

from agents.errors import ToolRefused
from worker.egress.authority import Authority
from worker.egress.connect import Pinned
from worker.egress.hosts import Hosts, authority, parsed
from worker.egress.reads import Reads, sent
from worker.egress.streams import Stream, TlsStream

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0
_TIMEOUT = {"connect": CONNECT_SECONDS, "read": IDLE_SECONDS, "write": IDLE_SECONDS}
NOTED = 5
"""So many different requests, and hosts, are noted for the person who asks why a run failed."""
_HOPS = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    }
)
_UNREACHED = (httpcore.ConnectError, httpcore.ConnectTimeout)
_FAILED = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)

Headers = list[tuple[bytes, bytes]]


@dataclass(slots=True)
class ReadingProxy:
    """`intranet` connects to hosts that the list names in full, `public` to those that a `*.` of it
    stands for. `credentials` are `Authorization` headers by host. `refused` are the first requests
    that were not allowed, `unreached` the first hosts that gave no answer, both in order."""

    hosts: Hosts
    intranet: Pinned
    public: Pinned
    most_bytes: int
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    authority: Authority = field(default_factory=Authority, repr=False)
    refused: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    _received: int = 0
    _reads: Reads = field(default_factory=Reads)
    _pools: dict[Pinned, httpcore.AsyncConnectionPool] = field(default_factory=dict)

    async def aclose(self) -> None:
        """Close the connections to hosts."""
        for pool in self._pools.values():
            await pool.aclose()

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, begun: bytes = b""
    ) -> None:
        """Answer the requests of one connection, and close it. `begun` is what was read of it."""
        client = _Client(Stream(reader, writer), begun)
        try:
            with suppress(OSError, h11.ProtocolError, *_FAILED):  # no HTTP, or it ended within
                await self._requests(client)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _requests(self, client: _Client) -> None:
        while (request := await client.next_request()) is not None:
            try:
                await self._one(client, request)
            except ToolRefused as error:
                _note(self.refused, str(error))
                await client.say(403)
            if not client.goes_on():
                return

    async def _one(self, client: _Client, request: h11.Request) -> None:
        """Answer one request. Raises ToolRefused."""
        if client.leads_to is not None:
            if not request.target.startswith(b"/"):  # a server may take another host from it
                raise ToolRefused("a request in a tunnel names a path of its host alone")
            await self._forward(client, request, client.leads_to, request.target)
        elif request.method == b"CONNECT":
            to = self._listed(f"https://{request.target.decode('ascii')}")
            await client.secure(self.authority.context(to.raw_host.decode("ascii")), to)
        else:
            to = self._listed(request.target.decode("ascii"))
            await self._forward(client, request, to, to.raw_path)

    async def _forward(
        self, client: _Client, request: h11.Request, to: httpx.URL, target: bytes
    ) -> None:
        """Answer with what the host answers. Raises ToolRefused."""
        place = authority(to)
        content = await client.body(self._reads.most(request, place, target))
        headers = sent(request, self.credentials.get(place))
        url = httpcore.URL(scheme=to.raw_scheme, host=to.raw_host, port=to.port, target=target)
        try:
            async with self._pool(to).stream(
                *(request.method, url),
                headers=headers,
                content=content or None,
                extensions={"timeout": _TIMEOUT},
            ) as response:
                self._reads.look(request, place, target, response)
                await self._pass(client, response)
        except _UNREACHED as error:
            if any(isinstance(each, ssl.SSLCertVerificationError) for each in error.args):
                why = f"{place} shows no certificate that this worker trusts: {error}"
                raise ToolRefused(why) from None
            _note(self.unreached, place)
            await client.say(502)
        except _FAILED:
            await client.say(502)

    async def _pass(self, client: _Client, response: httpcore.Response) -> None:
        await client.begin(response.status, _answered(response.headers))
        async for part in response.aiter_stream():
            self._received += len(part)
            if self._received > self.most_bytes:
                raise ToolRefused(f"the indexes sent more than {self.most_bytes} bytes")
            await client.send(h11.Data(part))
        await client.send(h11.EndOfMessage())

    def _listed(self, address: str) -> httpx.URL:
        url = parsed(address)
        self.hosts.require(url)
        return url

    def _pool(self, to: httpx.URL) -> httpcore.AsyncConnectionPool:
        backend = self.intranet if self.hosts.name_in_full(to) else self.public
        if backend not in self._pools:
            self._pools[backend] = httpcore.AsyncConnectionPool(
                ssl.create_default_context(), keepalive_expiry=15.0, network_backend=backend
            )
        return self._pools[backend]


def _note(notes: list[str], text: str) -> None:
    if text not in notes and len(notes) < NOTED:
        notes.append(text)


def _answered(headers: Headers) -> Headers:
    """What a host says of its answer, with the length of its body."""
    lengths = [each for each in headers if each[0].lower() == b"content-length"]
    return [each for each in headers if each[0].lower() not in _HOPS] + lengths[:1]


class _Client:
    """A connection of the code's; once it is secured it leads to one host."""

    def __init__(self, stream: Stream, begun: bytes) -> None:
        self.leads_to: httpx.URL | None = None
        self._stream, self._http = stream, h11.Connection(h11.SERVER)
        if begun:
            self._http.receive_data(begun)

    async def next_request(self) -> h11.Request | None:
        """None where no more comes. Raises OSError, h11.ProtocolError, as all of these do."""
        event = await self._next()
        return event if isinstance(event, h11.Request) else None

    async def body(self, most: int) -> bytes:
        """The request's body. Raises ToolRefused for a larger one."""
        found = bytearray()
        while isinstance(event := await self._next(), h11.Data):
            found += event.data
            if len(found) > most:
                raise ToolRefused(f"a setup may only read: a body of over {most} bytes is refused")
        return bytes(found)

    async def begin(self, status: int, headers: Headers) -> None:
        """Begin an answer."""
        await self.send(h11.Response(status_code=status, headers=headers))

    async def send(self, event: h11.Event) -> None:
        """Send a part of an answer."""
        await self._stream.write(self._http.send(event) or b"")

    async def say(self, status: int) -> None:
        """Answer with a status alone; where an answer has begun, the connection ends within it."""
        if self._http.our_state is not h11.SEND_RESPONSE:
            raise ConnectionAbortedError
        await self.begin(status, [(b"content-length", b"0"), (b"connection", b"close")])
        await self.send(h11.EndOfMessage())

    async def secure(self, context: ssl.SSLContext, to: httpx.URL) -> None:
        """Answer a CONNECT, and go on within TLS."""
        await self.begin(200, [])
        stream = TlsStream(self._stream, context)
        await stream.shake_hands(CONNECT_SECONDS)
        self.leads_to, self._stream, self._http = to, stream, h11.Connection(h11.SERVER)

    def goes_on(self) -> bool:
        """Whether another request may follow."""
        states = self._http.our_state, self._http.their_state
        if states == (h11.DONE, h11.DONE):
            self._http.start_next_cycle()
        return self._http.our_state is h11.IDLE

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._stream.read())
        return event
