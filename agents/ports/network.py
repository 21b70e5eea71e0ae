"""What tools may reach outside of the sandbox, where an operator allows it: the ports of `fetch`
and `install`. `worker` implements them; nothing of them runs in a room, which has no network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Page:
    """An answer, undecoded. `url` is where it came from, after redirects."""

    url: str
    media_type: str
    charset: str | None
    body: bytes


class Pages(Protocol):
    """Pages of the hosts on the operator's list."""

    async def get(self, url: str) -> Page:
        """The page. Raises `agents.errors.ToolRefused` where it may not be had, or cannot."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """The interpreter that packages are for, as it tells of itself.

    `tags` are the wheels' that it can use, best first; `markers` the environment that conditions of
    dependencies ask for; `there` versions of what is installed in it, by normalized name.
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
        """The wheels of what is wanted and of all that it needs, but for what is there already.

        `wanted` are requirements such as `attrs` or `attrs>=23`. Raises ToolRefused.
        """
        ...
