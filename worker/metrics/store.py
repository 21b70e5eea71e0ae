"""The store of a worker that counts what it records: changes of jobs, and what was paid.

It counts here, since every change and payment passes the store once; those of the sweeper, too,
which ends jobs that no attempt could end.
"""

from __future__ import annotations

from collections.abc import Sequence

from redis.asyncio import Redis

from jobs.model.record import JobRecord
from jobs.store import Charge, ConversationEntry, Writes
from jobs.store.redis_store import RedisStore
from jobs.transitions.change import Change
from worker.metrics.figures import Figures


class CountingStore(RedisStore):
    """See RedisStore."""

    def __init__(self, redis: Redis, replicas: int, figures: Figures) -> None:
        super().__init__(redis, replicas)
        self._figures = figures

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """See RedisStore."""
        committed = await super().commit(before, change, entry=entry, first=first)
        if committed:
            self._figures.changed(change)
        return committed

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See RedisStore. What is refused posts its charges by `charge`."""
        await super().write(job_id, epoch, writes)
        self._figures.paid(writes.charges)

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See RedisStore."""
        await super().charge(job_id, charges)
        self._figures.paid(charges)
