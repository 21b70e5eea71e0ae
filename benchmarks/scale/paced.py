"""Requests at a steady rate, and their answers."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import httpx

NO_ANSWER = 0
"""In place of the status of a request without an answer."""
GOOD = range(200, 300)


@dataclass
class Answers:
    """The latencies in milliseconds, and the number of answers by status."""

    ms: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    @property
    def good(self) -> int:
        """The number of 2xx."""
        return sum(count for status, count in self.statuses.items() if status in GOOD)

    def at(self, part: float) -> float:
        """The quantile of the latencies, `part` from 0 to 1; 0 without answers."""
        found = sorted(self.ms)
        return round(found[min(int(len(found) * part), len(found) - 1)], 1) if found else 0.0


async def paced(rate: float, seconds: float, ask: Callable[[], Awaitable[int]]) -> Answers:
    """`rate` requests a second, each sent in time even if earlier ones are not answered yet.

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
