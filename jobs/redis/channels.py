"""Messages over Redis channels, which are stored nowhere: streamed tokens, questions to workers.

A process has one connection for all its listeners. A lost connection loses messages, so a message
is a signal to look, never the truth.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from jobs.redis import keys
from jobs.redis.connection import await_redis, read_script, translate_redis_errors, urgent_script
from jobs.redis.keys import JobKeys

ACCEPTED_MS = 120_000
"""How long an accepted inquiry is marked."""
LINGER_SECONDS = 30.0
"""How long a channel without a listener stays subscribed, because readers come back after each
event."""
CONFIRM_SECONDS = 1.0
RECONNECT_SECONDS = 0.1
MAX_UNREAD = 1_000
"""The messages that wait for one listener."""
RECENT = 16
"""The messages that a channel keeps, so that a reader that comes back after each message misses
none."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The messages of a channel, as a listener gets them."""

    recent: Sequence[str]
    """The latest messages before the listener came, without gaps."""
    queue: asyncio.Queue[str]
    """The messages since then."""

    async def next_message(self, seconds: float) -> str:
        """The next message; '' if no message comes in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await self.queue.get()
        return ""


@dataclass(slots=True)
class _Channel:
    queues: set[asyncio.Queue[str]] = field(default_factory=set)
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)
    idle_since: float = 0.0


class Listener:
    """Passes the messages of channels to listeners, over one connection.

    After a reconnection each listener gets an empty message, which means: messages may be lost, so
    read the store.
    """

    def __init__(self, redis: Redis) -> None:
        self._pubsub = redis.pubsub()
        self._channels: dict[str, _Channel] = {}
        self._reader: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def subscribed(self, name: str) -> AsyncIterator[Subscription]:
        """Listen to a channel. Raises redis' errors."""
        queue: asyncio.Queue[str] = asyncio.Queue(MAX_UNREAD)
        channel = await self._join(name, queue)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CONFIRM_SECONDS):
                    await channel.confirmed.wait()
            yield Subscription(tuple(channel.recent), queue)
        finally:
            channel.queues.discard(queue)
            channel.idle_since = time.monotonic()

    async def close(self) -> None:
        """Stop listening and give the connection back."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        await self._pubsub.aclose()  # type: ignore[no-untyped-call]

    async def _join(self, name: str, queue: asyncio.Queue[str]) -> _Channel:
        async with self._connecting:
            if name not in self._channels:
                await self._leave_idle()
                self._channels[name] = _Channel()  # before the server's answer can come
                try:
                    await self._pubsub.subscribe(name)
                except BaseException:
                    del self._channels[name]
                    raise
            channel = self._channels[name]
            channel.queues.add(queue)
            if self._reader is None or self._reader.done():
                self._reader = asyncio.create_task(self._read())
        return channel

    async def _leave_idle(self) -> None:
        latest = time.monotonic() - LINGER_SECONDS
        idle = [
            name
            for name, channel in self._channels.items()
            if not channel.queues and channel.idle_since < latest
        ]
        for name in idle:
            del self._channels[name]
        if idle:
            await self._pubsub.unsubscribe(*idle)

    async def _read(self) -> None:
        while True:
            try:
                message = await self._pubsub.get_message(timeout=None)
            except (RedisError, OSError):
                await self._reconnect()
                continue
            if message is not None:
                self._deliver(message)

    async def _reconnect(self) -> None:
        """Connect until the server answers. redis-py then subscribes to the same channels again."""
        while True:
            async with self._connecting:
                with contextlib.suppress(RedisError, OSError):
                    await self._pubsub.connect()  # type: ignore[no-untyped-call]
                    return
            await asyncio.sleep(RECONNECT_SECONDS)

    def _deliver(self, message: dict[str, Any]) -> None:
        channel = self._channels.get(_text(message["channel"]))
        if channel is None:
            return
        if message["type"] == "subscribe":
            missed = channel.confirmed.is_set()
            channel.confirmed.set()
            text = "" if missed else None
        else:
            text = _text(message["data"]) if message["type"] == "message" else None
        if text == "":
            channel.recent.clear()
        elif text is not None:
            channel.recent.append(text)
        if text is not None:
            for queue in channel.queues:
                _put(queue, text)


def _put(queue: asyncio.Queue[str], text: str) -> None:
    """Give a message to a listener. If the listener has too many unread messages, an empty message
    replaces them."""
    if queue.full():
        while not queue.empty():
            queue.get_nowait()
        text = ""
    queue.put_nowait(text)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class TokenChannel:
    """The output of models while it streams, on one channel per job. It is no event, and is not
    stored (J12). Raises StoreUnavailable."""

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._listener = listener

    async def publish(self, messages: Mapping[str, str]) -> frozenset[str]:
        """Send a message to the listeners of each of some jobs, in one round trip. Returns the jobs
        that have a listener."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            for job_id, message in messages.items():
                pipeline.publish(JobKeys(job_id).tokens, message)
            counts = await await_redis(pipeline.execute())
        return frozenset(job_id for job_id, count in zip(messages, counts, strict=True) if count)

    @contextlib.asynccontextmanager
    async def subscribe(self, job_id: str) -> AsyncIterator[asyncio.Queue[str]]:
        """A job's messages from now on. An empty message means that some may be lost."""
        name = JobKeys(job_id).tokens
        async with translate_redis_errors(), self._listener.subscribed(name) as subscription:
            yield subscription.queue


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question to any worker."""

    id: str
    subject: str
    """The kind of question."""
    data: Mapping[str, Any]


class WorkerRpc:
    """Inquiries that any one worker answers while the caller waits, such as whether a model
    answers. They are not stored: a caller without an answer asks again. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._acquire = urgent_script(redis, read_script("acquire"))
        self._listener = listener

    async def call(
        self, subject: str, data: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any] | None:
        """A worker's answer; None if no worker listens or answers in time."""
        inquiry_id = secrets.token_hex(8)
        async with (
            translate_redis_errors(),
            self._listener.subscribed(keys.answers(inquiry_id)) as subscription,
        ):
            inquiry = json.dumps({"id": inquiry_id, "subject": subject, "data": data})
            if not await self._redis.publish(keys.INQUIRIES, inquiry):
                return None
            message = await subscription.next_message(seconds)
        return json.loads(message) if message else None

    @contextlib.asynccontextmanager
    async def inquiries(self) -> AsyncIterator[asyncio.Queue[str]]:
        """The inquiries from now on, for `accept`. An empty message means that some may be lost."""
        async with (
            translate_redis_errors(),
            self._listener.subscribed(keys.INQUIRIES) as subscription,
        ):
            yield subscription.queue

    async def accept(self, message: str) -> Inquiry | None:
        """The inquiry in a message; None if another worker has accepted it."""
        inquiry = Inquiry(**json.loads(message))
        accepted = await await_redis(
            self._acquire(keys=[keys.inquiry(inquiry.id)], args=[ACCEPTED_MS])
        )
        return inquiry if accepted else None

    async def answer(self, inquiry: Inquiry, data: Mapping[str, Any]) -> None:
        """Send the answer to the caller."""
        await await_redis(self._redis.publish(keys.answers(inquiry.id), json.dumps(data)))
