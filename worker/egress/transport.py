"""Transport: HTTP requests that connect only to checked addresses.

A name is resolved once, all its addresses are checked, and the connection goes to one of them: a
name that later resolves to another address (DNS rebinding) has no effect. TLS checks the
certificate for the name. A request has its own headers only: no cookies, no credentials of other
hosts, and no proxy from this machine's environment. Size and time of a response are bounded, and
its body is not decompressed.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from agents.errors import ToolRefused
from worker.egress.hosts import display_url, parse_url, require_address

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host and port."""
NETWORK_ERRORS = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)
_REDIRECTS = frozenset({301, 302, 307, 308})
_SEE_OTHER = 303


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """The addresses from this machine's resolver. Raises ToolRefused for an unknown host."""
    try:
        rows = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ToolRefused(f"the host {host} is not known: {error.strerror or error}") from None
    except UnicodeError as error:  # a label that is empty or too long
        raise ToolRefused(f"{host!r} is no host's name: {error}") from None
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in rows))


class PinnedBackend(httpcore.AsyncNetworkBackend):
    """Opens connections to checked addresses. `private` also allows addresses of an intranet."""

    def __init__(self, *, private: bool, resolver: Resolver = resolve_host) -> None:
        self._resolver = resolver
        self._private = private
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first of the host's addresses that answers. Raises ToolRefused if one of
        the addresses is not allowed."""
        addresses = await self._resolver(host, port)
        if not addresses:
            raise ToolRefused(f"the host {host} has no address")
        for address in addresses:
            require_address(address, private=self._private)
        *earlier, last = addresses
        for address in earlier:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError:
                continue
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)


class TransportError(Exception):
    """The host did not answer, or not in time; a later try may succeed. The text is a predicate:
    `took longer than 5 s`."""

    def __init__(self, url: httpx.URL, reason: str) -> None:
        super().__init__(reason)
        self.url = url


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a response."""

    url: httpx.URL
    """The last URL, after redirects."""
    status: int
    headers: httpx.Headers


@dataclass(frozen=True, slots=True)
class Response:
    """A response that was read to its end, or to the transport's bound."""

    head: Head
    body: bytes
    is_cut: bool
    """Whether the body is longer than the bound; `body` then has its beginning."""


def accept_head(_: Head) -> None:
    """Read the body of every response."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Sends requests. `check_url` raises for a URL that may not be requested; redirects are
    followed only to URLs that pass."""

    seconds: float
    """The longest time of a request, with its redirects."""
    max_bytes: int
    """The longest body that is read."""
    private: bool = False
    """Whether addresses of an intranet are allowed."""
    max_redirects: int = 0
    resolver: Resolver = resolve_host

    async def send(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        check_url: Callable[[httpx.URL], None],
        check_head: Callable[[Head], None] = accept_head,
        is_complete: Callable[[bytes], bool] = lambda _: False,
    ) -> Response:
        """The response. `check_head` raises if the body need not be read. `is_complete` gets each
        part of the body, and returns whether the rest need not be read.

        Raises TransportError, ToolRefused for a host or a redirect that is not allowed, and the
        exceptions of the checks.
        """
        try:
            async with asyncio.timeout(self.seconds):
                for _ in range(self.max_redirects + 1):
                    check_url(url)
                    response = await self._exchange(
                        method, url, headers, body, check_head, is_complete
                    )
                    if isinstance(response, Response):
                        return response
                    url = response
        except TimeoutError:
            raise TransportError(url, f"took longer than {self.seconds:g} s") from None
        raise ToolRefused(f"more than {self.max_redirects} redirects")

    async def _exchange(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        body: bytes | None,
        check_head: Callable[[Head], None],
        is_complete: Callable[[bytes], bool],
    ) -> Response | httpx.URL:
        """One request over a new connection: the response, or the URL of a redirect."""
        context = ssl.create_default_context() if url.scheme == "https" else None
        backend = PinnedBackend(private=self.private, resolver=self.resolver)
        try:
            async with (
                httpcore.AsyncConnectionPool(context, network_backend=backend) as pool,
                pool.stream(
                    method,
                    core_url(url, url.raw_path),
                    headers=_core_headers(url, headers, body),
                    content=body,
                ) as response,
            ):
                head = Head(url, response.status, httpx.Headers(response.headers))
                if self.max_redirects and (target := _redirect_target(method, head)) is not None:
                    return target
                check_head(head)
                return await self._read(head, response, is_complete)
        except NETWORK_ERRORS as error:
            reason = str(error) or type(error).__name__
            raise TransportError(url, f"could not be reached: {reason}") from None

    async def _read(
        self, head: Head, response: httpcore.Response, is_complete: Callable[[bytes], bool]
    ) -> Response:
        body = bytearray()
        async for part in response.aiter_stream():
            body += part
            if len(body) > self.max_bytes:
                return Response(head, bytes(body[: self.max_bytes]), is_cut=True)
            if is_complete(part):
                break
        return Response(head, bytes(body), is_cut=False)


def _redirect_target(method: str, head: Head) -> httpx.URL | None:
    follows = head.status in _REDIRECTS or (head.status == _SEE_OTHER and method == "GET")
    if not follows or not head.headers.get("location"):
        return None
    try:
        return parse_url(str(head.url.join(head.headers["location"])))
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolRefused(
            f"{display_url(head.url)} redirects to an invalid address: {error}"
        ) from None


def core_url(url: httpx.URL, target: bytes) -> httpcore.URL:
    """The URL of a request for `target` at the host of `url`. It is made of parts, because two
    parsers may read one text differently."""
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=target)


def _core_headers(
    url: httpx.URL, headers: Mapping[str, str], body: bytes | None
) -> list[tuple[bytes, bytes]]:
    all_headers = {
        "Host": url.netloc.decode("ascii"),
        "User-Agent": "fettle",
        "Accept-Encoding": "identity",
        **({} if body is None else {"Content-Length": str(len(body))}),
        **headers,
    }
    return [(name.encode(), value.encode()) for name, value in all_headers.items()]
