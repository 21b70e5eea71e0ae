"""Requests at a steady pace, and what came of them."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

NO_ANSWER = 0
"""Stands for a status where none came."""
GOOD = range(200, 300)


@dataclass
class Answers:
    """Milliseconds that answers took, and how many there were of each status."""

    ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def good(self) -> int:
        """How many were a 2xx."""
        return sum(count for status, count in self.statuses.items() if status in GOOD)

    @property
    def refused(self) -> int:
        """How many were refusals, or none at all."""
        return self.statuses.total() - self.good

    def at(self, part: float) -> float:
        """The time within which this part of the answers came; 0 where there were none."""
        found = sorted(self.ms)
        return round(found[min(int(len(found) * part), len(found) - 1)], 1) if found else 0.0


async def paced(rate: float, seconds: float, ask: Callable[[], Awaitable[int]]) -> Answers:
    """So many requests a second, each sent in time whether or not the others were answered.

    `ask` sends one and returns the answer's status.
    """
    answers, asked = Answers(), []

    async def once() -> None:
        begun = time.perf_counter()
        try:
            status = await ask()
        except httpx.TransportError:
            status = NO_ANSWER
        answers.ms.append((time.perf_counter() - begun) * 1000)
        answers.statuses[status] += 1

    begun = time.perf_counter()
    for number in range(int(rate * seconds)):
        await asyncio.sleep(begun + number / rate - time.perf_counter())
        asked.append(asyncio.create_task(once()))
    await asyncio.gather(*asked)
    return answers
