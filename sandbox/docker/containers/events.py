"""The engine's events about a container during its run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OOM_SECONDS = 0.5
"""How long the engine may take to report a kill for memory; it takes some milliseconds."""
END_SECONDS = 2.0
"""How long it may take to report how a container ended, after its streams ended."""
EVENTS = ("oom", "die")


@dataclass(eq=False, slots=True)
class RunEvents:
    """Of one container with a run in it."""

    _short_of_memory: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: asyncio.Event = field(default_factory=asyncio.Event)
    _exit_code: str | None = None

    def note(self, event: Mapping[str, Any]) -> None:
        """Note one of `EVENTS`."""
        if event.get("Action") == "oom":
            self._short_of_memory.set()
        elif event.get("Action") == "die":
            self._exit_code = (event["Actor"].get("Attributes") or {}).get("exitCode")
            self._ended.set()

    async def hit_memory_limit(self, *, wait: bool) -> bool:
        """Whether the kernel has ended a process of it for its memory; `wait` a moment for word."""
        return await _wait_for(self._short_of_memory, OOM_SECONDS if wait else 0)

    async def ended_by_itself(self) -> bool:
        """Whether it has ended by a fault of what ran in it, after its streams have.

        An agent ends in good order without an answer where its own streams end first: the fault is
        of who stands between. So it is where a container's streams have ended, and it has not.
        """
        return await _wait_for(self._ended, END_SECONDS) and self._exit_code != "0"


async def _wait_for(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
