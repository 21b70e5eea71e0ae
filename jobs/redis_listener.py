"""Listening to Redis channels: one connection a process, however many listen."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError


class Listener:
    """Hands messages of channels to those who wait for them.

    A lost connection loses messages, so what is heard is a nudge to look, never the truth; whoever
    waits looks again after a while by himself.
    """

    def __init__(self, redis: Redis) -> None:
        self._pubsub = redis.pubsub(ignore_subscribe_messages=False)
        self._queues: dict[str, set[asyncio.Queue[str]]] = defaultdict(set)
        self._confirmed: dict[str, asyncio.Event] = {}
        self._reader: asyncio.Task[None] | None = None
        self._changing = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def subscribed(self, channel: str) -> AsyncIterator[asyncio.Queue[str]]:
        """A queue of the channel's messages from now on; redis' errors come through."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        async with self._changing:
            if not self._queues[channel]:
                self._confirmed[channel] = asyncio.Event()
                await self._pubsub.subscribe(channel)
            self._queues[channel].add(queue)
            if self._reader is None or self._reader.done():
                self._reader = asyncio.create_task(self._read())
        try:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._confirmed[channel].wait(), 1.0)
            yield queue
        finally:
            async with self._changing:
                self._queues[channel].discard(queue)
                if not self._queues[channel]:
                    del self._queues[channel]
                    self._confirmed.pop(channel, None)
                    with contextlib.suppress(RedisError):
                        await self._pubsub.unsubscribe(channel)

    async def close(self) -> None:
        """Stop listening and give the connection back."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        await self._pubsub.aclose()  # type: ignore[no-untyped-call]

    async def _read(self) -> None:
        while True:
            try:
                message = await self._pubsub.get_message(timeout=None)
            except RedisError:
                # redis-py subscribes again on its next read; wait for a server that is away
                await asyncio.sleep(0.5)
                continue
            if message is not None:
                self._deliver(message)

    def _deliver(self, message: dict[str, Any]) -> None:
        channel = _text(message["channel"])
        if message["type"] == "subscribe" and channel in self._confirmed:
            self._confirmed[channel].set()
        elif message["type"] == "message":
            for queue in self._queues.get(channel, ()):
                queue.put_nowait(_text(message["data"]))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
