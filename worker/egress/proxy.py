"""Proxy: an HTTP proxy for a process or a sandbox that may reach only hosts of the operator's list.

Each request goes to a host that was checked, at a checked address, and carries only the headers
that reading and git need; the host's own name replaces the request's header `Host`. The received
bytes are bounded over all connections.

Without an authority, TLS passes through unread (git of a worker). With an authority, which code
trusts for one run, TLS ends here and begins again to the host, after a check of its certificate.
Then the proxy reads each request: it allows only reading, and adds the operator's credential for
the host, which the code does not see.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import h11
import httpcore
import httpx

from agents.errors import ToolRefused
from worker.egress.authority import Authority
from worker.egress.connection import CHUNK_BYTES, ByteStream, ClientConnection, Headers
from worker.egress.hosts import PORTS, HostList, authority, parse_url
from worker.egress.reads import ReadRules, forwarded_headers
from worker.egress.transport import PinnedBackend, Resolver, core_url, resolve_host

CONNECT_SECONDS = 10.0
IDLE_SECONDS = 60.0
_TIMEOUT = {"connect": CONNECT_SECONDS, "read": IDLE_SECONDS, "write": IDLE_SECONDS}
MAX_NOTES = 5
"""The number of different refused requests, and of hosts without an answer, that are noted for the
person who wants to know why a run failed."""
_HOP_HEADERS = frozenset(
    {
        *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te"),
        *(b"trailer", b"transfer-encoding", b"upgrade", b"content-length"),
    }
)
_UNREACHED = (httpcore.ConnectError, httpcore.ConnectTimeout)
_FAILED = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


@dataclass(slots=True)
class Proxy:
    """One proxy for one process or one run."""

    hosts: HostList
    max_bytes: int
    """The most bytes that all hosts together may send."""
    private: bool = False
    """Whether hosts that the list names in full may have addresses of an intranet. Hosts of a `*.`
    pattern need public addresses."""
    authority: Authority | None = field(default=None, repr=False)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    """`Authorization` headers by host."""
    target: tuple[str, int] | None = None
    """A host and port that each connection is joined to, without HTTP: ssh needs it."""
    resolver: Resolver = resolve_host
    refused: list[str] = field(default_factory=list)
    """The first requests that were not allowed, in order."""
    unreached: dict[str, str] = field(default_factory=dict)
    """The first hosts that did not answer, with the reasons."""
    _received: int = 0
    _rules: ReadRules = field(default_factory=ReadRules)
    _pools: dict[bool, httpcore.AsyncConnectionPool] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def is_over_limit(self) -> bool:
        """Whether the hosts sent more bytes than allowed."""
        return self._received > self.max_bytes

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve on loopback until the block ends; gives the proxy's URL."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to hosts."""
        for pool in self._pools.values():
            await pool.aclose()

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: bytes = b""
    ) -> None:
        """Answer the requests of one connection, and close it. `received` are its first bytes, if
        they were read already."""
        stream = ByteStream(reader, writer)
        try:
            with suppress(OSError, h11.ProtocolError, *_FAILED):  # not HTTP, or an early end
                if self.target is not None:
                    await self._join(stream, *self.target)
                else:
                    await self._answer_requests(ClientConnection(stream, received))
        except ToolRefused as error:  # of a target
            self._note_refused(str(error))
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self.answer(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_requests(self, client: ClientConnection) -> None:
        while (request := await client.next_request()) is not None:
            try:
                await self._answer_request(client, request)
            except ToolRefused as error:
                self._note_refused(str(error))
                await client.send_status(403)
            if not client.may_continue():
                return

    async def _answer_request(self, client: ClientConnection, request: h11.Request) -> None:
        """Raises ToolRefused."""
        if client.tunnel_target is not None:
            if not request.target.startswith(b"/"):  # a server may read another host from it
                raise ToolRefused("a request in a tunnel names a path of its host alone")
            await self._forward(client, request, client.tunnel_target, request.target)
        elif request.method == b"CONNECT":
            await self._connect(client, self._listed_url(f"https://{request.target.decode()}"))
        else:
            url = self._listed_url(request.target.decode("ascii"))
            await self._forward(client, request, url, url.raw_path)

    async def _connect(self, client: ClientConnection, url: httpx.URL) -> None:
        host = url.raw_host.decode("ascii")
        if self.authority is not None:
            await client.start_tls(self.authority.context(host), url, CONNECT_SECONDS)
            return
        backend = self._backend(self.hosts.has_full_name(url))
        try:
            upstream = await backend.connect_tcp(host, url.port or PORTS["https"], CONNECT_SECONDS)
        except _UNREACHED as error:
            self._note_unreached(authority(url), error)
            await client.send_status(502)
            return
        stream, received = await client.start_tunnel()
        await upstream.write(received)
        await self._pass_bytes(stream, upstream)

    async def _join(self, stream: ByteStream, host: str, port: int) -> None:
        """Connect to the target, and pass the bytes of both sides. Raises ToolRefused."""
        try:
            upstream = await self._backend(self.private).connect_tcp(host, port, CONNECT_SECONDS)
        except _UNREACHED as error:
            self._note_unreached(host, error)
            return
        await self._pass_bytes(stream, upstream)

    async def _pass_bytes(self, stream: ByteStream, upstream: httpcore.AsyncNetworkStream) -> None:
        try:
            sending = asyncio.create_task(_copy(stream, upstream))
            try:
                while part := await upstream.read(CHUNK_BYTES):
                    try:
                        self._count(part)
                    except ToolRefused as error:
                        self._note_refused(str(error))
                        return
                    await stream.write(part)
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        finally:
            await upstream.aclose()

    async def _forward(
        self, client: ClientConnection, request: h11.Request, url: httpx.URL, target: bytes
    ) -> None:
        """Send the request to its host, and the response to the client. Raises ToolRefused."""
        host = authority(url)
        content: bytes | AsyncIterator[bytes] | None
        if self.authority is None:
            content = client.body() if _has_body(request) else None
        else:
            limit = self._rules.max_body_bytes(request, host, target)
            content = await client.read_body(limit) or None
        headers = forwarded_headers(request, self.credentials.get(host))
        try:
            async with self._pool(url).stream(
                *(request.method, core_url(url, target)),
                headers=headers,
                content=content,
                extensions={"timeout": _TIMEOUT},
            ) as response:
                self._rules.note_offer(request, host, target, response)
                await self._pass_response(client, response)
        except _UNREACHED as error:
            if any(isinstance(arg, ssl.SSLCertVerificationError) for arg in error.args):
                raise ToolRefused(
                    f"{host} has no certificate that this worker trusts: {error}"
                ) from None
            self._note_unreached(host, error)
            await client.send_status(502)
        except _FAILED:
            await client.send_status(502)

    async def _pass_response(self, client: ClientConnection, response: httpcore.Response) -> None:
        await client.begin_response(response.status, _response_headers(response.headers))
        async for part in response.aiter_stream():
            self._count(part)
            await client.send(h11.Data(part))
        await client.send(h11.EndOfMessage())

    def _count(self, part: bytes) -> None:
        """Raise ToolRefused if the hosts sent too much."""
        self._received += len(part)
        if self.is_over_limit:
            raise ToolRefused(f"the hosts sent more than {self.max_bytes} bytes")

    def _listed_url(self, address: str) -> httpx.URL:
        url = parse_url(address)
        self.hosts.require(url)
        return url

    def _pool(self, url: httpx.URL) -> httpcore.AsyncConnectionPool:
        is_full_name = self.hosts.has_full_name(url)
        if is_full_name not in self._pools:
            self._pools[is_full_name] = httpcore.AsyncConnectionPool(
                ssl.create_default_context(),
                keepalive_expiry=15.0,
                network_backend=self._backend(is_full_name),
            )
        return self._pools[is_full_name]

    def _backend(self, is_full_name: bool) -> PinnedBackend:
        return PinnedBackend(private=self.private and is_full_name, resolver=self.resolver)

    def _note_refused(self, reason: str) -> None:
        if reason not in self.refused and len(self.refused) < MAX_NOTES:
            self.refused.append(reason)

    def _note_unreached(self, host: str, error: Exception) -> None:
        if len(self.unreached) < MAX_NOTES:
            self.unreached.setdefault(host, str(error) or type(error).__name__)


def _has_body(request: h11.Request) -> bool:
    return any(name in {b"content-length", b"transfer-encoding"} for name, _ in request.headers)


def _response_headers(headers: Headers) -> Headers:
    """The headers of a host's response for the client, with the length of the body."""
    lengths = [header for header in headers if header[0].lower() == b"content-length"]
    end_to_end = [header for header in headers if header[0].lower() not in _HOP_HEADERS]
    return end_to_end + lengths[:1]


async def _copy(stream: ByteStream, upstream: httpcore.AsyncNetworkStream) -> None:
    while part := await stream.read():
        await upstream.write(part)
