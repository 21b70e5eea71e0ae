"""The part of a worker that sends webhooks, as a process that a test can kill.

Arguments: the address of Redis, the receiver's address, the secret. It starts when its stdin ends.
"""

from __future__ import annotations

import asyncio
import sys

from jobs.store.redis_store import RedisStore, connect
from jobs.store.webhooks import Webhook
from worker.background.courier import send_forever
from worker.egress.transport import Transport
from worker.egress.webhooks import MAX_RESPONSE_BYTES, Sender


async def main(redis_url: str, url: str, secret: str) -> None:
    """Send until the process is killed."""
    store = RedisStore(connect(redis_url, seconds=20))
    transport = Transport(5.0, MAX_RESPONSE_BYTES, private=True)
    webhook = Webhook(url, secrets=[secret], by_operator=True)
    await send_forever(store, Sender(webhook, transport), 0.1)


if __name__ == "__main__":
    sys.stdin.read()
    asyncio.run(main(*sys.argv[1:]))
