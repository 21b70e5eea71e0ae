"""The messages to webhooks: each has a lease of its own, so several workers send them.

Receivers that hang must not delay the messages of other tenants. So a tenant never has more
messages under way than there are free slots: one busy tenant gets half of all slots, and two busy
tenants get a third each.
"""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from jobs.store.outbox import retry_delay_ms
from jobs.store.redis_store import RedisStore
from jobs.store.webhooks import Webhook
from jobs.transitions.change import Delivery
from worker.background.periodic import run_logged
from worker.egress.webhooks import DeliveryFailed, Sender

log = structlog.get_logger("worker.background")

SLOTS = 32
"""The messages that a worker sends at the same time."""
MESSAGES_OF_A_CHANGE = 4
"""The most messages that one change sends to a webhook: one after the other."""
LOOK_SECONDS = 0.1
"""The pause between two looks for due messages. If many are due, a look blocks Redis for some
milliseconds, so slots that become free together are filled by one look."""
SPARE_SECONDS = 5.0
"""The lease is this much longer than the tries, so that no other worker sends the messages."""


async def send_forever(store: RedisStore, sender: Sender, seconds: float) -> None:
    """Send messages until cancelled. Look for due messages every `seconds`, and after messages have
    been sent."""
    async with asyncio.TaskGroup() as tasks:
        courier = Courier(store, sender, tasks)
        while True:
            courier.freed.clear()
            await run_logged("webhooks", courier.start)
            with suppress(TimeoutError):
                await asyncio.wait_for(courier.freed.wait(), seconds)
            await asyncio.sleep(LOOK_SECONDS)


@dataclass(slots=True)
class Courier:
    """Sends the messages of a worker."""

    store: RedisStore
    sender: Sender
    tasks: asyncio.TaskGroup
    under_way: Counter[str] = field(default_factory=Counter)
    """The number of messages that are being sent, by tenant."""
    freed: asyncio.Event = field(default_factory=asyncio.Event)
    """A message has been sent since the last look for due messages."""

    async def start(self) -> int:
        """Start to send due messages in the free slots; return their number. The messages of a
        change reach a webhook one after the other, in their order. Raises StoreUnavailable."""
        free_slots = SLOTS - self.under_way.total()
        if free_slots <= 0:
            return 0
        tries_seconds = MESSAGES_OF_A_CHANGE * self.sender.transport.seconds
        lease_ms = int((tries_seconds + SPARE_SECONDS) * 1000)
        deliveries = await self.store.outbox.lease(free_slots, lease_ms, self.under_way)
        in_order = defaultdict[tuple[str, str, str, int], list[Delivery]](list)
        for delivery in deliveries:
            change = (delivery.webhook, delivery.tenant, delivery.job_id, delivery.at)
            in_order[change].append(delivery)
            self.under_way[delivery.tenant] += 1
        for messages in in_order.values():
            self.tasks.create_task(self._send_in_order(messages))
        return len(deliveries)

    async def _send_in_order(self, messages: Sequence[Delivery]) -> None:
        async def send() -> None:
            for delivery in messages:
                await self._send(delivery)

        try:
            await run_logged("webhooks", send)
        finally:
            self.under_way[messages[0].tenant] -= len(messages)
            self.freed.set()

    async def _send(self, delivery: Delivery) -> None:
        message_log = log.bind(delivery=delivery.id, type=delivery.type, job_id=delivery.job_id)
        try:
            webhook = await self._find_webhook(delivery)
            is_wanted = webhook is not None and webhook.accepts(delivery)
            if webhook is not None and is_wanted:
                await self.sender.send(webhook, delivery, await self.store.now())
        except DeliveryFailed as failed:
            delay = None if failed.is_final else retry_delay_ms(delivery.tries)
            await self.store.outbox.fail(delivery, failed.reason, delay)
            message_log.warning(
                "webhook missed", why=failed.reason, tries=delivery.tries, dead=delay is None
            )
        else:
            await self.store.outbox.delivered(delivery)
            outcome = "webhook sent" if is_wanted else "webhook left out"
            message_log.info(outcome, tries=delivery.tries)

    async def _find_webhook(self, delivery: Delivery) -> Webhook | None:
        """The webhook of a message; None: it was deleted. Raises DeliveryFailed if the settings of
        this worker lack the operator's webhook."""
        if delivery.webhook:
            return (await self.store.webhooks.of_tenant(delivery.tenant)).get(delivery.webhook)
        if self.sender.operator is None:
            raise DeliveryFailed("this worker has no FETTLE_WEBHOOK_URL")
        return self.sender.operator
