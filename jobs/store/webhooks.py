"""Webhooks: the addresses to which the messages of a change are sent.

The operator's webhook is a setting of the workers; its id is empty. The webhooks of a tenant are in
Redis: `Credentials` writes them. Their secrets must sign messages, so Redis has them in clear.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import Redis

from jobs.redis import keys
from jobs.redis.connection import await_redis, decode_hash
from jobs.transitions.change import Delivery

MOST_WEBHOOKS = 10
"""The webhooks that a tenant may have: each one multiplies the messages of the tenant."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that receives messages. JSON in Redis."""

    url: str
    """`https:`, `http:`, or `mailto:` and an address. The address of a chat is a secret."""
    format: str = "generic"
    """generic, slack, teams or email."""
    secrets: Sequence[str] = ()
    """Each signs the messages of the format `generic`."""
    labels: Sequence[str] = ()
    """Only messages about jobs with one of these labels are sent; empty: all."""
    events: Sequence[str] = ()
    """The types of messages that are sent (`jobs.store.outbox.MessageType`); empty: all."""
    id: str = ""
    by_operator: bool = False
    """Whether the operator made it: only then may the address be an intranet's."""

    @property
    def public_fields(self) -> dict[str, Any]:
        """The fields that may be shown: the path of an address may be a secret."""
        parts = urlsplit(self.url)
        address = f"{parts.scheme}://{parts.netloc}" if parts.netloc else self.url
        filters = {"labels": list(self.labels), "events": list(self.events)}
        return {"id": self.id, "address": address, "format": self.format, **filters}

    def accepts(self, delivery: Delivery) -> bool:
        """Whether it gets the message. Labels leave out only messages about jobs."""
        job_labels = delivery.data.get("labels")
        has_label = (
            not self.labels or job_labels is None or not set(self.labels).isdisjoint(job_labels)
        )
        return has_label and (not self.events or delivery.type in self.events)


class Webhooks:
    """The webhooks of tenants. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def of_tenant(self, tenant: str) -> Mapping[str, Webhook]:
        """The webhooks by id."""
        texts = await await_redis(self._redis.hgetall(keys.webhooks(tenant)))
        return {key: Webhook(**json.loads(text)) for key, text in decode_hash(texts).items()}

    async def address(
        self, messages: Sequence[Delivery], *, operator: bool
    ) -> tuple[Delivery, ...]:
        """The messages of one tenant, a copy for each webhook that accepts it; also for the
        operator's webhook, if there is one."""
        if not messages:
            return ()
        webhooks = await self.of_tenant(messages[0].tenant)
        copies = (
            replace(message, id=f"{message.id}_{webhook.id}", webhook=webhook.id)
            for message in messages
            for webhook in webhooks.values()
            if webhook.accepts(message)
        )
        return (*(messages if operator else ()), *copies)
