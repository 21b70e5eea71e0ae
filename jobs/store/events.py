"""The events of jobs in Redis: read by number, wait for new events, listen for cancellations."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence

from redis.asyncio import Redis

from jobs.model.codec import pack_event, read_event, read_message
from jobs.model.events import EVENTS_AT_ONCE, Event
from jobs.redis import keys
from jobs.redis.channels import Listener
from jobs.redis.connection import Clock, RedisCommand, await_redis, translate_redis_errors
from jobs.redis.keys import JobKeys

EVENTS_PER_READ = 200
"""The events that are read at a time."""
INLINE_PARSE_BYTES = 16_000
"""Longer JSON is parsed in a thread, not on the event loop. This number of bytes takes some 0.1
ms."""
PACKED_BYTES_PER_STEP = 1_000_000
"""The approximate size of packed events in one step."""
POLL_SECONDS = 5.0
"""How often a waiting reader reads the store, in case a message was lost."""


async def packing_commands(redis: Redis, job_id: str) -> list[RedisCommand]:
    """Compress the events of a job that ends, as far as one step may carry. The number of an event
    stays the same. Most of a finished job's memory in Redis is the text of its events."""
    name, commands, size, start = JobKeys(job_id).events, list[RedisCommand](), 0, 0
    while size < PACKED_BYTES_PER_STEP:
        stored = await await_redis(redis.lrange(name, start, start + EVENTS_PER_READ - 1))
        for number, body in enumerate(await asyncio.to_thread(_packed, stored), start=start):
            if body is not None:
                commands.append(("LSET", name, number, body))
                size += len(body)
        if len(stored) < EVENTS_PER_READ:
            break
        start += EVENTS_PER_READ
    return commands


def _read(stored: Sequence[bytes], after: int) -> Sequence[Event]:
    return [read_event(after + i, body) for i, body in enumerate(stored, start=1)]


def _packed(stored: Sequence[bytes]) -> list[bytes | None]:
    return [pack_event(body) for body in stored]


class EventLog(Clock):
    """A part of RedisStore. Only commits append events."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.listener = Listener(redis)

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """The events with a number above `after`; at most `limit` events. Events are only appended,
        so a long list is read in pieces, and no other task waits until all events are parsed."""
        after, events = max(after, 0), list[Event]()
        while limit is None or len(events) < limit:
            limit_of_piece = (
                EVENTS_PER_READ if limit is None else min(EVENTS_PER_READ, limit - len(events))
            )
            piece = await self._read_piece(job_id, after + len(events), limit_of_piece)
            events += piece
            if len(piece) < limit_of_piece:
                break
        return events

    async def count_events(self, job_id: str) -> int:
        """The number of the newest event; 0 without events."""
        return int(await await_redis(self.redis.llen(JobKeys(job_id).events)))

    async def _read_piece(self, job_id: str, after: int, limit: int) -> Sequence[Event]:
        stored: Sequence[bytes] = await await_redis(
            self.redis.lrange(JobKeys(job_id).events, after, after + limit - 1)
        )
        if sum(map(len, stored)) < INLINE_PARSE_BYTES:
            return _read(stored, after)
        return await asyncio.to_thread(_read, stored, after)

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """The next events above `after`, after up to `seconds`; empty if no event comes. A reader
        without a backlog gets the events from the channel, without a read of the store."""
        deadline = time.monotonic() + seconds
        async with (
            translate_redis_errors(),
            self.listener.subscribed(JobKeys(job_id).channel) as subscription,
        ):
            received = [event for message in subscription.recent for event in read_message(message)]
            if received and received[0].seq <= after + 1 and received[-1].seq >= after:
                events: Sequence[Event] = [event for event in received if event.seq > after]
            else:
                events = await self.events(job_id, after, EVENTS_AT_ONCE)
            while not events and (remaining_seconds := deadline - time.monotonic()) > 0:
                message = await subscription.next_message(min(remaining_seconds, POLL_SECONDS))
                received = read_message(message) if message else []
                if received and received[0].seq == after + 1:
                    events = received
                else:
                    events = await self.events(job_id, after, EVENTS_AT_ONCE)
        return events[:EVENTS_AT_ONCE]

    @contextlib.asynccontextmanager
    async def stops(self) -> AsyncIterator[asyncio.Queue[str]]:
        """The ids of jobs that are cancelled from now on. An id is a signal to look at the job. An
        empty id means that some may be lost."""
        async with translate_redis_errors(), self.listener.subscribed(keys.STOP) as subscription:
            yield subscription.queue
