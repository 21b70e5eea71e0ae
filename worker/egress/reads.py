"""What of a request does no more than read, and what its host gets of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import h11
import httpcore

from agents.errors import ToolRefused

ASKED_BYTES = 1024 * 1024
"""Of the body with which git asks for objects."""
MOST_REPOSITORIES = 100
_METHODS = (b"GET", b"HEAD")
_REPOSITORY = rb"((?:/(?!\.\.?/)[\w.~@+-]+)+)"
_OFFERS = re.compile(_REPOSITORY + rb"/info/refs\?service=git-upload-pack")
_FETCHES = re.compile(_REPOSITORY + rb"/git-upload-pack")
"""git reads by a GET of the first, and then by POSTs to the second."""
_OFFER = b"application/x-git-upload-pack-advertisement"
_FETCH = b"application/x-git-upload-pack-request"
_SENT = frozenset(
    {
        *(b"accept", b"accept-encoding", b"accept-language", b"authorization", b"user-agent"),
        *(b"cache-control", b"pragma", b"range", b"if-range", b"if-match", b"if-none-match"),
        *(b"if-modified-since", b"if-unmodified-since", b"git-protocol", b"cargo-protocol"),
    }
)
"""What pip, npm, cargo, curl and git need. Others may ask a server for more than to read."""
_SENT_BY_POST = _SENT | {b"content-type", b"content-encoding"}


@dataclass(slots=True)
class Reads:
    """Decides for one run. A POST goes only to a repository that its host has offered to git: no
    other path can be written to, whatever it is named."""

    _offered: set[tuple[str, bytes]] = field(default_factory=set)

    def most(self, request: h11.Request, place: str, target: bytes) -> int:
        """How many bytes the request's body may have. Raises ToolRefused for one that does more
        than read."""
        if request.method in _METHODS:
            return 0
        method = request.method[:20].decode("ascii")
        path = _FETCHES.fullmatch(target) if method == "POST" else None
        if path is None or (place, path[1]) not in self._offered:
            raise ToolRefused(f"a setup may only read: {method} is refused")
        if _kinds(request.headers) != [_FETCH]:
            raise ToolRefused("a setup may only read: a POST that is not of git's is refused")
        return ASKED_BYTES

    def look(
        self, request: h11.Request, place: str, target: bytes, response: httpcore.Response
    ) -> None:
        """Note the repository that a host offers by this response."""
        path = _OFFERS.fullmatch(target) if request.method == b"GET" else None
        offers = response.status == 200 and _kinds(response.headers) == [_OFFER]
        if path is not None and offers and len(self._offered) < MOST_REPOSITORIES:
            self._offered.add((place, path[1]))


def sent(request: h11.Request, credential: str | None) -> list[tuple[bytes, bytes]]:
    """The headers that the host gets. The operator's credential replaces one of the code's."""
    names = _SENT if request.method in _METHODS else _SENT_BY_POST
    found = [each for each in request.headers if each[0] in names]
    if credential is None:
        return found
    others = [each for each in found if each[0] != b"authorization"]
    return [*others, (b"authorization", credential.encode())]


def _kinds(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    return [value for name, value in headers if name.lower() == b"content-type"]
