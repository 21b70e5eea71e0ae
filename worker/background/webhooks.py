"""Sends what is due in the outbox to the webhook, and records the result."""

from __future__ import annotations

import asyncio

import structlog

from jobs.store.outbox import Outbox, retry_delay_ms
from jobs.store.redis_store import RedisStore
from jobs.transitions.change import Delivery
from worker.background.loop import every_seconds
from worker.egress.webhooks import DeliveryFailed, Endpoint

AT_ONCE = 8
SPARE_SECONDS = 5.0
"""How much longer a lease is than a try may take, so that no other worker sends it meanwhile."""

log = structlog.get_logger("worker.background.webhooks")


async def send_forever(store: RedisStore, endpoint: Endpoint, seconds: float) -> None:
    """Send until cancelled. Every worker does; a lease keeps two from sending the same."""

    async def send() -> None:
        while await send_some(store, endpoint) == AT_ONCE:
            pass

    await every_seconds(seconds, "webhooks", send)


async def send_some(store: RedisStore, endpoint: Endpoint) -> int:
    """Send what is due, a few side by side; how many there were. Raises StoreUnavailable."""
    lease_ms = int((endpoint.transport.seconds + SPARE_SECONDS) * 1000)
    taken = await store.outbox.lease(AT_ONCE, lease_ms)
    if taken:
        now = await store.now()
        await asyncio.gather(*(_send(store.outbox, endpoint, each, now) for each in taken))
    return len(taken)


async def _send(outbox: Outbox, endpoint: Endpoint, delivery: Delivery, now: int) -> None:
    say = log.bind(delivery=delivery.id, type=delivery.type, job_id=delivery.job_id)
    try:
        await endpoint.deliver(delivery, now)
    except DeliveryFailed as failed:
        delay = None if failed.gone else retry_delay_ms(delivery.tries)
        await outbox.fail(delivery, failed.reason, delay)
        say.warning("webhook missed", why=failed.reason, tries=delivery.tries, dead=delay is None)
    else:
        await outbox.delivered(delivery)
        say.info("webhook sent", tries=delivery.tries)
