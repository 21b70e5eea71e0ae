"""The events of jobs in Redis: reading by number, waiting for new ones, and signals to stop
jobs."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence

from redis.asyncio import Redis

from jobs.model.codec import packed, read_event, read_message
from jobs.model.events import EVENTS_AT_ONCE, Event
from jobs.redis import keys
from jobs.redis.channels import Listener
from jobs.redis.connection import Clock, RedisCommand, ask, translate_redis_errors
from jobs.redis.keys import JobKeys

PIECE = 200
"""Events that are read at a time."""
READ_HERE_BYTES = 16_000
"""More JSON than this (some 0.1 ms) is parsed in a thread, not on the event loop."""
PACKED_AT_ONCE = 1_000_000
"""About how many bytes of packed events one step carries."""
LOOK_SECONDS = 5.0
"""How often a waiting reader polls, in case a message was lost."""


async def packing(redis: Redis, job_id: str) -> list[RedisCommand]:
    """The commands that compress the events of a job that ends, as far as one step may carry. An
    event's number stays the same. Most of a finished job's memory in Redis is their text."""
    name, commands, size, place = JobKeys(job_id).events, list[RedisCommand](), 0, 0
    while size < PACKED_AT_ONCE:
        found = await ask(redis.lrange(name, place, place + PIECE - 1))
        for number, body in enumerate(await asyncio.to_thread(_packed, found), start=place):
            if body is not None:
                commands.append(("LSET", name, number, body))
                size += len(body)
        if len(found) < PIECE:
            break
        place += PIECE
    return commands


def _read(stored: Sequence[bytes], after: int) -> Sequence[Event]:
    return [read_event(after + i, body) for i, body in enumerate(stored, start=1)]


def _packed(stored: Sequence[bytes]) -> list[bytes | None]:
    return [packed(body) for body in stored]


class Events(Clock):
    """A part of RedisStore. The commit script alone appends them."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.listener = Listener(redis)

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """The events whose number is above `after`; the first `limit` of them. Events are only
        appended, so a long list is read in pieces: no other task waits while all is parsed."""
        after, found = max(after, 0), list[Event]()
        while limit is None or len(found) < limit:
            most = PIECE if limit is None else min(PIECE, limit - len(found))
            piece = await self._piece(job_id, after + len(found), most)
            found += piece
            if len(piece) < most:
                break
        return found

    async def _piece(self, job_id: str, after: int, most: int) -> Sequence[Event]:
        found: Sequence[bytes] = await ask(
            self.redis.lrange(JobKeys(job_id).events, after, after + most - 1)
        )
        if sum(map(len, found)) < READ_HERE_BYTES:
            return _read(found, after)
        return await asyncio.to_thread(_read, found, after)

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """The next few events above `after`, after up to `seconds`; empty when none came. A reader
        that keeps up gets them from the channel alone, one that is far behind by further calls."""
        ends = time.monotonic() + seconds
        async with (
            translate_redis_errors(),
            self.listener.subscribed(JobKeys(job_id).channel) as heard,
        ):
            received = [event for message in heard.recent for event in read_message(message)]
            if received and received[0].seq <= after + 1 and received[-1].seq >= after:
                found: Sequence[Event] = [event for event in received if event.seq > after]
            else:
                found = await self.events(job_id, after, EVENTS_AT_ONCE)
            while not found and (left := ends - time.monotonic()) > 0:
                message = await heard.next(min(left, LOOK_SECONDS))
                received = read_message(message) if message else []
                if received and received[0].seq == after + 1:
                    found = received
                else:
                    found = await self.events(job_id, after, EVENTS_AT_ONCE)
        return found[:EVENTS_AT_ONCE]

    @contextlib.asynccontextmanager
    async def stops(self) -> AsyncIterator[asyncio.Queue[str]]:
        """A queue of ids of jobs that are cancelled from now on: a signal to look, not the truth.
        An empty id says that some may have been missed."""
        async with translate_redis_errors(), self.listener.subscribed(keys.STOP) as heard:
            yield heard.queue
