"""The port of the tool `fetch`, which reads web pages if the operator allows it. A sandbox has no
network, so `worker` implements the port."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """An undecoded response. `url` is its address after redirects."""

    url: str
    media_type: str
    charset: str | None
    body: bytes


class Pages(Protocol):
    """Pages of the hosts on the operator's list."""

    async def get(self, url: str) -> Page:
        """The page. Raises `agents.errors.ToolRefused` if it is not allowed or not available."""
        ...
