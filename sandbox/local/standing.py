"""A room of the pool, and what it is there for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.local.rooms import Room
    from sandbox.local.succession import Succession


@dataclass(eq=False)
class Standing:
    """A room of a line and what it is there for: nothing yet, or the run `number`."""

    room: Room
    line: Succession
    until: float
    """When it is overdue, on the monotonic clock; a room that stands ready never is."""
    ready: bool = False
    number: int | None = None
    dropped: bool = False
    failed: bool = False
    """It never came to stand ready, by a fault of its own: the next one would have it too."""
