"""ReadRules: which requests only read, and which of their headers a host gets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import h11
import httpcore

from agents.errors import ToolRefused

MAX_FETCH_BYTES = 1024 * 1024
"""The longest body of a request by which git fetches objects."""
MAX_REPOSITORIES = 100
_METHODS = (b"GET", b"HEAD")
_REPOSITORY = rb"((?:/(?!\.\.?/)[\w.~@+-]+)+)"
_OFFERS = re.compile(_REPOSITORY + rb"/info/refs\?service=git-upload-pack")
_FETCHES = re.compile(_REPOSITORY + rb"/git-upload-pack")
"""To fetch, git sends a GET of the first path, and then POSTs to the second."""
_OFFER = b"application/x-git-upload-pack-advertisement"
_FETCH = b"application/x-git-upload-pack-request"
_HEADERS = frozenset(
    {
        *(b"accept", b"accept-encoding", b"accept-language", b"authorization", b"user-agent"),
        *(b"cache-control", b"pragma", b"range", b"if-range", b"if-match", b"if-none-match"),
        *(b"if-modified-since", b"if-unmodified-since", b"git-protocol", b"cargo-protocol"),
    }
)
"""The headers that pip, npm, cargo, curl and git need. Other headers may make a server write."""
_POST_HEADERS = _HEADERS | {b"content-type", b"content-encoding"}


@dataclass(slots=True)
class ReadRules:
    """The rules of one run. A POST may go only to a repository that its host has offered to git, so
    that no other path can be written to."""

    _offered: set[tuple[str, bytes]] = field(default_factory=set)

    def max_body_bytes(self, request: h11.Request, host: str, target: bytes) -> int:
        """The longest body that the request may have. Raises ToolRefused for a request that does
        more than read."""
        if request.method in _METHODS:
            return 0
        method = request.method[:20].decode("ascii")
        path = _FETCHES.fullmatch(target) if method == "POST" else None
        if path is None or (host, path[1]) not in self._offered:
            raise ToolRefused(f"a setup may only read: {method} is refused")
        if _content_types(request.headers) != [_FETCH]:
            raise ToolRefused("a setup may only read: a POST that is not from git is refused")
        return MAX_FETCH_BYTES

    def note_offer(
        self, request: h11.Request, host: str, target: bytes, response: httpcore.Response
    ) -> None:
        """Note the repository that a host offers in this response."""
        path = _OFFERS.fullmatch(target) if request.method == b"GET" else None
        is_offer = response.status == 200 and _content_types(response.headers) == [_OFFER]
        if path is not None and is_offer and len(self._offered) < MAX_REPOSITORIES:
            self._offered.add((host, path[1]))


def forwarded_headers(request: h11.Request, credential: str | None) -> list[tuple[bytes, bytes]]:
    """The headers that the host gets. The operator's credential replaces a credential of the
    code."""
    names = _HEADERS if request.method in _METHODS else _POST_HEADERS
    headers = [header for header in request.headers if header[0] in names]
    if credential is None:
        return headers
    headers = [header for header in headers if header[0] != b"authorization"]
    return [*headers, (b"authorization", credential.encode())]


def _content_types(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    return [value for name, value in headers if name.lower() == b"content-type"]
