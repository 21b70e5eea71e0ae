"""The messages to webhooks that are due, sent in this process."""

from __future__ import annotations

import asyncio

from jobs.store.redis_store import RedisStore
from worker.background.courier import Courier
from worker.egress.webhooks import Sender


async def send_some(store: RedisStore, sender: Sender) -> int:
    """Send the messages that one look for due messages finds; return their number."""
    async with asyncio.TaskGroup() as tasks:
        return await Courier(store, sender, tasks).start()
