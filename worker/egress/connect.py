"""Connecting to an address that was checked, whatever the name resolves to later."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpcore
import httpx

from agents.errors import ToolRefused
from worker.egress.address import require

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""From host and port to its addresses."""


async def resolved(host: str, port: int) -> Sequence[str]:
    """The addresses that this machine's resolver knows. Raises ToolRefused for an unknown host."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ToolRefused(f"the host {host} is not known: {error.strerror or error}") from None
    except UnicodeError as error:  # a label that is empty or too long
        raise ToolRefused(f"{host!r} is no host's name: {error}") from None
    return list(dict.fromkeys(str(address[0]) for _, _, _, _, address in found))


class Pinned(httpcore.AsyncNetworkBackend):
    """Connects to the address that was checked, so that a name which resolves to another one later
    (DNS rebinding) has no effect. TLS still checks the certificate for the name.
    """

    def __init__(self, resolver: Resolver, *, private: bool) -> None:
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
        """Connect to the first of the host's addresses that answers. All must be allowed."""
        addresses = await self._resolver(host, port)
        if not addresses:
            raise ToolRefused(f"the host {host} has no address")
        for address in addresses:
            require(address, private=self._private)
        *others, last = addresses
        for address in others:
            try:
                return await self._inner.connect_tcp(
                    address, port, timeout, local_address, socket_options
                )
            except httpcore.ConnectError:
                continue
        return await self._inner.connect_tcp(last, port, timeout, local_address, socket_options)


@asynccontextmanager
async def requested(
    method: str,
    url: httpx.URL,
    headers: Mapping[str, str],
    backend: Pinned,
    body: bytes | None = None,
) -> AsyncIterator[httpcore.Response]:
    """The response to one request, on a checked connection of its own. Only what is named is sent:
    no cookies, no credentials of other places, no proxy of this machine's environment.
    """
    context = ssl.create_default_context() if url.scheme == "https" else None
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    # Part by part: two parsers may read one text differently.
    place = httpcore.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
    )
    async with (
        httpcore.AsyncConnectionPool(context, network_backend=backend) as pool,
        pool.stream(method, place, headers=sent, content=body) as response,
    ):
        yield response
