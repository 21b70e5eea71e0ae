"""PageClient: GET requests to the hosts of the operator's list.

Each redirect is checked against the list again. A page is bounded in size, time and media type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import Final

from agents.errors import ToolRefused
from agents.ports.network import Page
from settings.tools import ToolSettings
from worker.egress.hosts import HostList, display_url, parse_url
from worker.egress.transport import Head, Transport, TransportError

MAX_REDIRECTS: Final = 5
_TEXT_TYPE = re.compile(
    r"(text/[\w.+-]{1,127}|application/(json|xml|[\w.-]{1,127}\+(json|xml)))$", re.ASCII
)
"""Media types of text. Names have at most 127 characters (RFC 6838): the model sees them."""


@dataclass(frozen=True, slots=True)
class PageClient:
    """Implements the port Pages."""

    hosts: HostList
    transport: Transport
    accepts_type: Callable[[str], bool] = lambda _: True
    """Whether a page of this media type is read."""
    accept: str = "*/*"
    """The header `Accept`."""

    async def get(self, url: str) -> Page:
        """See `agents.ports.network.Pages`."""
        try:
            response = await self.transport.send(
                "GET",
                parse_url(url),
                {"Accept": self.accept},
                check_url=self.hosts.require,
                check_head=self._check_head,
            )
        except TransportError as error:
            raise ToolRefused(f"{display_url(error.url)} {error}") from None
        final_url = response.head.url
        if response.is_cut:
            most = self.transport.max_bytes
            raise ToolRefused(f"{display_url(final_url)} is larger than {most} bytes")
        return Page(str(final_url), *_content_type(response.head), response.body)

    def _check_head(self, head: Head) -> None:
        url = display_url(head.url)
        if head.status != 200:
            raise ToolRefused(f"{url} answered {head.status}")
        media_type, _ = _content_type(head)
        if not self.accepts_type(media_type):
            raise ToolRefused(
                f"{url} has a media type that is not read: {media_type[:80] or 'unknown'}"
            )
        if head.headers.get("content-encoding", "identity").lower() != "identity":
            raise ToolRefused(f"{url} is compressed, although the request did not allow that")


def _content_type(head: Head) -> tuple[str, str | None]:
    """Media type ('' if the header is missing) and charset. Raises ToolRefused."""
    message = Message()  # the standard library parses media types and their parameters
    message["content-type"] = head.headers.get("content-type", "")
    try:
        media_type = message.get_content_type() if message["content-type"] else ""
        return media_type, message.get_content_charset()
    except (TypeError, ValueError):  # inconsistent parts of a parameter (RFC 2231)
        raise ToolRefused(f"{display_url(head.url)} has an invalid Content-Type") from None


def page_client(settings: ToolSettings) -> PageClient | None:
    """The client of the tool `fetch`; None if the operator allows no hosts."""
    if not settings.fetch_hosts:
        return None
    return PageClient(
        HostList(settings.fetch_hosts, http=settings.fetch_http),
        Transport(
            settings.fetch_seconds,
            settings.fetch_bytes,
            private=settings.fetch_private,
            max_redirects=MAX_REDIRECTS,
        ),
        accepts_type=lambda media_type: _TEXT_TYPE.match(media_type) is not None,
        accept="text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9",
    )
