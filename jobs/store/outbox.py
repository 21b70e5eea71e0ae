"""The outbox: messages to webhooks, from the change that causes them to the delivery.

A commit writes the messages of a change in its atomic step. A worker leases a message, sends it,
and removes it when it has arrived, so a message is delivered at least once. A message that does not
arrive is dead after `MAX_TRIES` tries, and stays listed.

See ADR 20.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from redis.asyncio import Redis

from jobs.model.codec import dump
from jobs.model.spec import JobKind
from jobs.redis import keys
from jobs.redis.connection import (
    Argument,
    RedisCommand,
    UrgentCommands,
    await_redis,
    decode_hash,
    read_script,
    urgent_script,
)
from jobs.transitions.change import Change, Delivery
from jobs.view.verdict import verdict_of_review

HEAD_MESSAGE = "audit.head"
"""The type of the message with a signed head of the audit log."""
MessageType = Literal[
    "review.opened",
    "review.reminded",
    "review.escalated",
    "review.expired",
    "review.approved",
    "review.withdrawn",
    "review.decided",
    "job.finished",
    "audit.head",
]
MESSAGE_TYPES: Mapping[str, MessageType] = {
    "review_opened": "review.opened",
    "review_reminded": "review.reminded",
    "review_escalated": "review.escalated",
    "review_expired": "review.expired",
    "voted": "review.approved",
    "vote_withdrawn": "review.withdrawn",
    "decided": "review.decided",
    "succeeded": "job.finished",
    "failed": "job.finished",
    "cancelled": "job.finished",
}
"""The type of message, by the kind of the event that causes it."""
TASK_LENGTH = 200
"""The characters of a task in a message."""
MAX_TRIES = 14
FIRST_DELAY_MS = 5_000
MAX_DELAY_MS = 4 * 3_600_000
LOOKED_AT = 500
"""The due deliveries that one lease looks at: it blocks Redis for a few milliseconds."""
DEAD_KEPT = 1_000
"""The number of dead deliveries that are kept, the newest."""


def deliveries_of(change: Change) -> tuple[Delivery, ...]:
    """The messages of a change. Their ids are made from the keys of their events. Exercises of a
    benchmark have none."""
    after = change.after
    if after.spec.kind is JobKind.EXERCISE:
        return ()
    verdict = verdict_of_review(after.review) if after.review else None
    return tuple(
        Delivery(
            id=message_id(f"{after.id}:{event.key}"),
            type=MESSAGE_TYPES[event.kind],
            tenant=after.tenant,
            job_id=after.id,
            at=after.updated_at,
            data={
                "job_id": after.id,
                "tenant": after.tenant,
                "status": str(after.status),
                "labels": list(after.spec.labels),
                "task": _first_line(after.spec.task),
                "submitted_by": after.submitted_by,
                "submitted_by_person": after.person or after.submitted_by,
                "verdict": verdict and {"level": str(verdict.level), "reason": verdict.reason},
                "event": event.kind,
                **({"unapproved": after.unapproved} if after.status.final else {}),
                "override": after.override,
                **event.data,
            },
        )
        for event in change.events
        if event.kind in MESSAGE_TYPES
    )


def message_id(cause: str) -> str:
    """The id of a message. Each cause has one message, so receivers can drop repetitions."""
    return f"msg_{hashlib.sha256(cause.encode()).hexdigest()[:32]}"


def _first_line(task: str) -> str:
    line = next((line for part in task.splitlines() if (line := part.strip())), "")
    return line if len(line) <= TASK_LENGTH else f"{line[: TASK_LENGTH - 1]}…"


def enqueue(deliveries: Sequence[Delivery]) -> Iterator[RedisCommand]:
    """Put the deliveries of one change into the outbox, due at once. Fractions of the millisecond
    keep their order."""
    for position, delivery in enumerate(deliveries):
        content = [
            delivery.type,
            delivery.tenant,
            delivery.job_id,
            delivery.at,
            dict(delivery.data),
        ]
        body = dump([*content, delivery.webhook] if delivery.webhook else content)
        yield ("HSET", keys.delivery(delivery.id), "body", body, "tries", 0)
        yield (
            "ZADD",
            keys.DELIVERIES,
            f"{delivery.at}.{min(position, 99):02}",
            delivery.id,
        )


def retry_delay_ms(tries: int, chance: Callable[[], float] = random.random) -> int | None:
    """The delay after `tries` tries; None after the last try.

    The delay triples, with a random deviation of up to a quarter, so that deliveries that failed
    together are not retried together. All tries take about a day.
    """
    if tries >= MAX_TRIES:
        return None
    delay = min(FIRST_DELAY_MS * 3 ** (tries - 1), MAX_DELAY_MS)
    return int(delay * (0.75 + chance() / 2))


class Outbox:
    """The deliveries in Redis. Writes work although Redis is full, because they are small and free
    memory. Raises StoreUnavailable.
    """

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._lease = urgent_script(redis, read_script("outbox/lease"))
        self._requeue = urgent_script(redis, read_script("outbox/requeue"))
        self._remove = UrgentCommands(redis)
        self._fail = urgent_script(redis, read_script("outbox/fail"))

    async def lease(
        self, free_slots: int, lease_ms: int, under_way: Mapping[str, int] = MappingProxyType({})
    ) -> Sequence[Delivery]:
        """Take deliveries that are due, in order, and fill the free slots of a worker, which has
        `under_way` deliveries by tenant. A tenant gets a slot as long as it has fewer deliveries
        under way than slots are free; all messages of a change are taken together. No other worker
        gets the deliveries for `lease_ms`."""
        args: list[Argument] = [free_slots, lease_ms, keys.delivery(""), dump(dict(under_way))]
        args.append(LOOKED_AT)
        leased = await await_redis(self._lease(keys=[keys.DELIVERIES], args=args))
        return [
            _read(name.decode(), body.decode(), int(tries), error.decode(), int(float(due_at)))
            for name, body, tries, error, due_at in leased
        ]

    async def delivered(self, delivery: Delivery) -> None:
        """Remove a delivery that has arrived."""
        indexes = [keys.DELIVERIES, keys.DEAD_DELIVERIES]
        commands: list[RedisCommand] = [("ZREM", index, delivery.id) for index in indexes]
        commands.append(("UNLINK", keys.delivery(delivery.id)))
        await await_redis(self._remove(commands))

    async def fail(self, delivery: Delivery, error: str, delay_ms: int | None) -> bool:
        """Retry a leased delivery after `delay_ms`; None: the delivery is dead.

        Returns False if another worker has leased it in the meantime.
        """
        names = [keys.DELIVERIES, keys.DEAD_DELIVERIES, keys.delivery(delivery.id)]
        delay = "" if delay_ms is None else str(delay_ms)
        args: list[Argument] = [delivery.id, delivery.tries, error, delay]
        args += [DEAD_KEPT, keys.delivery("")]
        return bool(await await_redis(self._fail(keys=names, args=args)))

    async def requeue(self, delivery_id: str) -> bool:
        """Send a dead delivery again; False if no dead delivery has this id."""
        names = [keys.DELIVERIES, keys.DEAD_DELIVERIES, keys.delivery(delivery_id)]
        return bool(await await_redis(self._requeue(keys=names, args=[delivery_id])))

    async def waiting(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """The first `limit` deliveries that have not arrived yet, and their total number."""
        return await self._list(keys.DELIVERIES, limit, newest=False)

    async def dead(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """The newest `limit` dead deliveries, and their total number."""
        return await self._list(keys.DEAD_DELIVERIES, limit, newest=True)

    async def _list(
        self, index: str, limit: int, *, newest: bool
    ) -> tuple[Sequence[Delivery], int]:
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcard(index)
            pipe.zrange(index, 0, limit - 1, desc=newest, withscores=True)
            total, scored = await await_redis(pipe.execute())
            for name, _ in scored:
                pipe.hgetall(keys.delivery(name.decode()))
            hashes = await await_redis(pipe.execute())
        return [
            _read_hash(name.decode(), decode_hash(fields), int(due_at))
            for (name, due_at), fields in zip(scored, hashes, strict=True)
            if fields
        ], total


def _read_hash(name: str, fields: Mapping[str, str], due_at: int) -> Delivery:
    return _read(name, fields["body"], int(fields["tries"]), fields.get("error", ""), due_at)


def _read(name: str, body: str, tries: int, error: str, due_at: int) -> Delivery:
    message_type, tenant, job_id, at, data, *webhook = json.loads(body)
    return Delivery(name, message_type, tenant, job_id, at, data, tries, error, due_at, *webhook)
