"""Outbox: where deliveries wait, and when each is due. A commit puts them there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from redis.asyncio import Redis

from jobs.model.codec import dump
from jobs.redis import keys
from jobs.redis.connection import Argument, Command, UrgentCommands, ask, lua, texts, urgent_script
from jobs.transitions.change import Delivery

DEAD_KEPT = 1_000
"""Dead deliveries that are kept, the newest."""


class Outbox:
    """Its writes are small and free memory, so they run although Redis is full. Raises
    StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis
        self._lease = urgent_script(redis, lua("outbox/lease"))
        self._requeue = urgent_script(redis, lua("outbox/requeue"))
        self._let_go = UrgentCommands(redis)
        self._fail = urgent_script(redis, lua("outbox/fail"))

    async def lease(self, limit: int, lease_ms: int) -> Sequence[Delivery]:
        """Those that are due; nobody else gets them while the lease runs."""
        args: list[Argument] = [limit, lease_ms, keys.delivery("")]
        taken = await ask(self._lease(keys=[keys.DELIVERIES], args=args))
        return [
            _read(name.decode(), body.decode(), int(tries), error.decode(), int(due_at))
            for name, body, tries, error, due_at in taken
        ]

    async def delivered(self, delivery: Delivery) -> None:
        """It need not be sent again."""
        places = [keys.DELIVERIES, keys.DEAD_DELIVERIES]
        commands: list[Command] = [("ZREM", place, delivery.id) for place in places]
        commands.append(("UNLINK", keys.delivery(delivery.id)))
        await ask(self._let_go(commands))

    async def fail(self, delivery: Delivery, error: str, delay_ms: int | None) -> bool:
        """It is tried again after `delay_ms`; None: it is dead. False: another worker has leased it
        since. `delivery` is as it was leased."""
        names = [keys.DELIVERIES, keys.DEAD_DELIVERIES, keys.delivery(delivery.id)]
        delay = "" if delay_ms is None else str(delay_ms)
        taken: list[Argument] = [delivery.id, delivery.tries, error, delay]
        args = [*taken, DEAD_KEPT, keys.delivery("")]
        return bool(await ask(self._fail(keys=names, args=args)))

    async def requeue(self, delivery_id: str) -> bool:
        """Send a dead one again; False where there is none."""
        names = [keys.DELIVERIES, keys.DEAD_DELIVERIES, keys.delivery(delivery_id)]
        return bool(await ask(self._requeue(keys=names, args=[delivery_id])))

    async def waiting(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """Those that have not arrived yet, and how many there are."""
        return await self._listed(keys.DELIVERIES, limit, newest=False)

    async def dead(self, limit: int) -> tuple[Sequence[Delivery], int]:
        """Those that are tried no more, the newest first, and how many there are."""
        return await self._listed(keys.DEAD_DELIVERIES, limit, newest=True)

    async def _listed(
        self, index: str, limit: int, *, newest: bool
    ) -> tuple[Sequence[Delivery], int]:
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcard(index)
            pipe.zrange(index, 0, limit - 1, desc=newest, withscores=True)
            total, scored = await ask(pipe.execute())
            for name, _ in scored:
                pipe.hgetall(keys.delivery(name.decode()))
            found = await ask(pipe.execute())
        return [
            _stored(name.decode(), texts(fields), int(at))
            for (name, at), fields in zip(scored, found, strict=True)
            if fields
        ], total


def entered(deliveries: Sequence[Delivery]) -> Iterator[Command]:
    """The commands that put deliveries into the outbox, due at once."""
    for each in deliveries:
        body = dump([each.type, each.tenant, each.job_id, each.at, dict(each.data)])
        yield ("HSET", keys.delivery(each.id), "body", body, "tries", 0)
        yield ("ZADD", keys.DELIVERIES, each.at, each.id)


def _stored(name: str, fields: Mapping[str, str], due_at: int) -> Delivery:
    return _read(name, fields["body"], int(fields["tries"]), fields.get("error", ""), due_at)


def _read(name: str, body: str, tries: int, error: str, due_at: int) -> Delivery:
    kind, tenant, job_id, at, data = json.loads(body)
    return Delivery(name, kind, tenant, job_id, at, data, tries, error, due_at)
