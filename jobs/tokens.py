"""Tokens: what models say right now, for those who watch. No events: nothing of it stays (J12)."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from redis.asyncio import Redis

from jobs.keys import JobKeys
from jobs.redis_listener import Listener
from jobs.redis_reach import reached, reaching


class Tokens(Protocol):
    """A channel a job. Raises StoreUnavailable."""

    async def tell(self, said: Mapping[str, str]) -> frozenset[str]:
        """Send one message for each of some jobs; those of them that somebody listens to."""
        ...

    def heard(self, job_id: str) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """A job's messages from now on; an empty one says that some may have been missed."""
        ...


class RedisTokens:
    """Tokens over Redis' channels: one round trip for however many jobs."""

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._listener = listener

    async def tell(self, said: Mapping[str, str]) -> frozenset[str]:
        """See Tokens."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for job_id, message in said.items():
                pipeline.publish(JobKeys(job_id).tokens, message)
            counts = await reached(pipeline.execute())
        return frozenset(job_id for job_id, count in zip(said, counts, strict=True) if count)

    @contextlib.asynccontextmanager
    async def heard(self, job_id: str) -> AsyncIterator[asyncio.Queue[str]]:
        """See Tokens."""
        async with reaching(), self._listener.subscribed(JobKeys(job_id).tokens) as heard:
            yield heard.queue


class MemoryTokens:
    """Tokens within one process."""

    def __init__(self) -> None:
        self._queues: dict[str, set[asyncio.Queue[str]]] = defaultdict(set)

    async def tell(self, said: Mapping[str, str]) -> frozenset[str]:
        """See Tokens."""
        for job_id, message in said.items():
            for queue in self._queues[job_id]:
                queue.put_nowait(message)
        return frozenset(job_id for job_id in said if self._queues[job_id])

    @contextlib.asynccontextmanager
    async def heard(self, job_id: str) -> AsyncIterator[asyncio.Queue[str]]:
        """See Tokens."""
        queue: asyncio.Queue[str] = asyncio.Queue()  # of a test's few words
        self._queues[job_id].add(queue)
        try:
            yield queue
        finally:
            self._queues[job_id].discard(queue)
