"""Readers, which follow jobs by their event streams."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import httpx

from benchmarks.scale.paced import GOOD
from benchmarks.scale.side import Side, each
from cli.client.events import FINAL

OPEN_SECONDS = 30.0
QUIET_SECONDS = 90.0
"""The time-out of a stream, which has a heartbeat every 15 s."""
ENDED_BEFORE = 204


@dataclass
class Readers:
    """Each follows a job to its end, and then the newest job. `opened` counts streams, `cut` those
    that ended before their job or were refused."""

    ids: list[str]
    """Accepted jobs; more are added during the measurement."""
    open: int = 0
    opened: int = 0
    cut: int = 0

    async def follow(self, client: httpx.AsyncClient, job_id: str) -> None:
        """Read until cancelled."""
        while True:
            try:
                whole = await self._one(client, job_id)
            except httpx.TransportError:
                whole = False
            if not whole:
                self.cut += 1
                await asyncio.sleep(1)  # as a browser's EventSource does
            job_id = self.ids[-1]

    async def _one(self, client: httpx.AsyncClient, job_id: str) -> bool:
        """Whether the stream lasted to the job's end."""
        self.opened += 1
        kind = ""
        async with client.stream("GET", f"/jobs/{job_id}/events", timeout=QUIET_SECONDS) as answer:
            good = answer.status_code in GOOD
            self.open += good
            try:
                async for line in answer.aiter_lines():
                    if line.startswith("event: "):
                        kind = line.removeprefix("event: ").strip()
            finally:
                self.open -= good
        return kind in FINAL or answer.status_code == ENDED_BEFORE


@contextlib.asynccontextmanager
async def reading(client: httpx.AsyncClient, side: Side, count: int) -> AsyncIterator[Readers]:
    """So many readers, each with a new job."""
    readers = Readers([])

    async def one(_: object) -> None:
        answer = await client.post("/jobs", json=side.job("a job to follow"))
        readers.ids.append(answer.raise_for_status().json()["id"])

    await each(one, range(count))
    tasks = [asyncio.create_task(readers.follow(client, job_id)) for job_id in [*readers.ids]]
    try:
        await _all_open(readers, count)
        yield readers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _all_open(readers: Readers, count: int) -> None:
    """Wait until all streams are open, but only for a limited time."""
    deadline = time.monotonic() + OPEN_SECONDS
    while time.monotonic() < deadline:
        if readers.open >= count:
            return
        await asyncio.sleep(0.1)
