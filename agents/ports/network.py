"""What tools can access outside of the sandbox, if the operator allows it: the ports of `fetch` and
`install`. `worker` implements them. A sandbox itself has no network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Target:
    """The interpreter that packages are for, as it describes itself.

    `tags` are the wheel tags that it supports, best first; `markers` the environment for
    conditional dependencies; `there` the versions of installed packages by normalized name.
    """

    tags: tuple[str, ...]
    markers: Mapping[str, str]
    there: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel: its file's name, its bytes, and their sha256."""

    filename: str
    content: bytes
    digest: str


class Packages(Protocol):
    """Packages on the operator's list, from the operator's index."""

    async def wheels(self, wanted: Sequence[str], target: Target) -> Sequence[Wheel]:
        """The wheels of `wanted` and of all dependencies that are not installed.

        `wanted` are requirements such as `attrs` or `attrs>=23`. Raises ToolRefused.
        """
        ...
