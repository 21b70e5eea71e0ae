"""A worker's part that sends webhooks, as a process that a test can kill.

Arguments: Redis' address, the receiver's, the secret. It begins when its stdin ends.
"""

from __future__ import annotations

import asyncio
import sys

import httpx

from jobs.store.redis_store import RedisStore, connect
from worker.background.webhooks import send_forever
from worker.egress.webhooks import Endpoint, key_of


async def main(redis_url: str, url: str, secret: str) -> None:
    """Send until killed."""
    store = RedisStore(connect(redis_url, seconds=20))
    await send_forever(store, Endpoint(httpx.URL(url), (key_of(secret),), 5.0, private=True), 0.1)


if __name__ == "__main__":
    sys.stdin.read()
    asyncio.run(main(*sys.argv[1:]))
