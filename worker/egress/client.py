"""EgressClient: GET requests to the operator's hosts, and to no others.

Each hop of a redirect is checked against the list again, and connects only to checked addresses.
Only the request itself is sent: no cookies, no credentials of other places, and no proxy of this
machine's environment. Responses are bounded in size, time and kind, and are never decompressed
here.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email.message import Message
from typing import Final

import httpcore
import httpx

from agents.errors import ToolRefused
from agents.ports.network import Page
from settings.tools import ToolSettings
from worker.egress.connect import Pinned, Resolver, requested, resolved
from worker.egress.hosts import Hosts, parsed, shown

HOPS: Final = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE_WRONG = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)
_KIND = re.compile(
    r"(text/[\w.+-]{1,127}|application/(json|xml|[\w.-]{1,127}\+(json|xml)))$", re.ASCII
)
"""What is text. Names have at most 127 characters (RFC 6838): they are shown to the model."""


@dataclass(frozen=True, slots=True)
class EgressClient:
    """Implements the port Pages. `seconds` bounds a whole request with its redirects.

    `kind_fits` decides by the media type.
    """

    hosts: Hosts
    most_bytes: int
    seconds: float
    private: bool = False
    kind_fits: Callable[[str], bool] = lambda _: True
    accept: str = "*/*"
    resolver: Resolver = resolved

    async def get(self, url: str) -> Page:
        """See `agents.ports.network.Pages`."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self._followed(parsed(url))
        except TimeoutError:
            raise ToolRefused(f"{shown(parsed(url))} took longer than {self.seconds:g} s") from None

    async def _followed(self, url: httpx.URL) -> Page:
        for _ in range(HOPS + 1):
            self.hosts.require(url)
            answer = await self._one(url)
            if isinstance(answer, Page):
                return answer
            url = answer
        raise ToolRefused(f"more than {HOPS} redirects")

    async def _one(self, url: httpx.URL) -> Page | httpx.URL:
        """The page, or the target of a redirect. Each hop has a checked connection of its own."""
        backend = Pinned(self.resolver, private=self.private)
        sent = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": "fettle",
            "Accept": self.accept,
            "Accept-Encoding": "identity",
        }
        try:
            async with requested("GET", url, sent, backend) as response:
                return await self._read(url, response)
        except _GONE_WRONG as error:
            why = str(error) or type(error).__name__
            raise ToolRefused(f"{shown(url)} could not be reached: {why}") from None

    async def _read(self, url: httpx.URL, response: httpcore.Response) -> Page | httpx.URL:
        headers = _headers(response.headers)
        if response.status in _REDIRECTS and headers["location"]:
            return _redirected(url, headers["location"])
        if response.status != 200:
            raise ToolRefused(f"{shown(url)} answered {response.status}")
        kind, charset = _kind(url, headers)
        if not self.kind_fits(kind):
            raise ToolRefused(
                f"{shown(url)} is of a kind that is not read: {kind[:80] or 'unknown'}"
            )
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ToolRefused(f"{shown(url)} came compressed, which was not asked for")
        body = bytearray()
        async for part in response.aiter_stream():
            body += part
            if len(body) > self.most_bytes:
                raise ToolRefused(f"{shown(url)} is larger than {self.most_bytes} bytes")
        return Page(str(url), kind, charset, bytes(body))


def _redirected(url: httpx.URL, location: str) -> httpx.URL:
    try:
        return parsed(str(url.join(location)))
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolRefused(f"{shown(url)} leads to what is no address: {error}") from None


def _kind(url: httpx.URL, headers: Message) -> tuple[str, str | None]:
    """Media type, '' where none is given, and charset. Raises ToolRefused."""
    try:
        kind = headers.get_content_type() if headers["content-type"] else ""
        return kind, headers.get_content_charset()
    except (TypeError, ValueError):  # of parameters in parts (RFC 2231) that do not fit together
        raise ToolRefused(f"{shown(url)} has a Content-Type that cannot be read") from None


def _headers(raw: Sequence[tuple[bytes, bytes]]) -> Message:
    """The standard library reads media types and their parameters."""
    message = Message()
    for name, value in raw:
        message[name.decode("latin-1")] = value.decode("latin-1")
    return message


def pages(settings: ToolSettings) -> EgressClient | None:
    """None where the operator allows no hosts."""
    if not settings.fetch_hosts:
        return None
    return EgressClient(
        Hosts(settings.fetch_hosts, http=settings.fetch_http),
        settings.fetch_bytes,
        settings.fetch_seconds,
        private=settings.fetch_private,
        kind_fits=lambda kind: _KIND.match(kind) is not None,
        accept="text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9",
    )
