"""Fail points of the HTTP front: see jobs.fail_point.

| before_, after_ | what is done |
|---|---|
| accept | a new job is put on record |
| decision | a person's Decision is put on record |
| cancel | a cancel is put on record |
| hint | workers are sent a hint; after it, the caller has no answer yet |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from redis.asyncio import Redis

from jobs.fail_point import FailPoint
from jobs.model.record import JobRecord, Status
from jobs.store import ConversationEntry, Existing, Idempotency
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Change


class MortalStore(RedisStore):
    """The store of a front that dies at a point of its own."""

    def __init__(self, redis: Redis, replicas: int, point: FailPoint) -> None:
        super().__init__(redis, replicas)
        self._point = point

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
    ) -> Existing | None:
        """See RedisStore."""
        with self._point.around("accept"):
            return await super().create(change, idempotency, blobs, parent)

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """See RedisStore."""
        done = "cancel" if change.after.status is Status.CANCELLED else "decision"
        with self._point.around(done):
            return await super().commit(before, change, entry=entry, first=first)


def mortal(hint: Callable[[JobRecord], None], point: FailPoint) -> Callable[[JobRecord], None]:
    """A sender of hints that dies before or after one."""

    def send(record: JobRecord) -> None:
        with point.around("hint"):
            hint(record)

    return send
