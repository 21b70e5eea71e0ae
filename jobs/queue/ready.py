"""The ready index: which job a worker takes next, so that tenants take turns within a priority.

A hint in the broker says that a job of a priority waits. The ready index lists the jobs that wait,
by tenant. A worker that receives a hint takes the oldest job of the next tenant. Turns only decide
which job starts next: a job that runs keeps its slot until it ends. Like the hints, the index is
kept in the broker, and may be lost or stale.

The index lists no job that waits before a retry or for another job of its conversation. So it shows
how long jobs wait for a worker. The record does not: a job's `due_at` moves with each hint.

See ADR 34 and ADR 89.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.redis.connection import await_redis, read_script
from jobs.redis.keys import PREFIX, JobKeys

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

JOBS_PER_TENANT = 10_000
"""The jobs of a tenant that the index lists in one priority. The sweeper adds the others later."""
MEASURED_TENANTS, MEASURED_JOBS = 50, 20
"""In each priority, `WaitTimes` looks at the next tenants, and at the oldest jobs of each."""


class Ready:
    """The ready index of one broker. For synchronous clients; raises redis' errors."""

    def __init__(self, redis: Redis) -> None:
        self._add = redis.register_script(read_script("ready"))
        self._next = redis.register_script(read_script("next"))

    def add(self, job_id: str, priority: Priority, tenant: str) -> None:
        """Add a job, unless it is listed already."""
        turns = _turns(priority)
        self._add(keys=[turns, f"{turns}:{tenant}"], args=[tenant, job_id, JOBS_PER_TENANT])

    def next(self, priority: Priority) -> str | None:
        """Remove the oldest job of the next tenant, and return its id; None if no job is listed."""
        turns = _turns(priority)
        job_ids: list[bytes] = self._next(keys=[turns], args=[f"{turns}:"])
        return job_ids[0].decode() if job_ids else None


class WaitTimes:
    """Measures how long jobs have waited for a worker. For asynchronous clients of the broker and
    of the record; raises StoreUnavailable.
    """

    def __init__(self, broker: AsyncRedis, record: AsyncRedis) -> None:
        self._broker, self._record = broker, record

    async def longest(self) -> Mapping[Priority, float]:
        """The longest wait in seconds, by priority; 0: no job waits.

        A job that a worker has taken from the index does not count, although it may wait for a free
        slot: its next hint lists it again. If the broker loses its data, the times start at zero.
        """
        now, turns = await self._read_turns()
        oldest = await self._read_oldest(turns)
        queued = await self._select_queued({job for jobs in oldest.values() for job, _ in jobs})
        return {
            priority: max((now - since for job, since in jobs if job in queued), default=0.0)
            for priority, jobs in oldest.items()
        }

    async def _read_turns(self) -> tuple[float, Mapping[Priority, Sequence[bytes]]]:
        """The time in seconds, and the tenants in the order of their turns, by priority."""
        async with self._broker.pipeline(transaction=False) as pipe:
            pipe.time()
            for priority in Priority:
                pipe.lrange(_turns(priority), 0, MEASURED_TENANTS - 1)
            (seconds, micros), *tenants = await await_redis(pipe.execute())
        return seconds + micros / 1e6, dict(zip(Priority, tenants, strict=True))

    async def _read_oldest(
        self, turns: Mapping[Priority, Sequence[bytes]]
    ) -> Mapping[Priority, Sequence[tuple[bytes, float]]]:
        """The jobs that have waited longest, each with the time of its hint, by priority."""
        tenants = [(priority, tenant.decode()) for priority in turns for tenant in turns[priority]]
        oldest: dict[Priority, list[tuple[bytes, float]]] = {priority: [] for priority in turns}
        async with self._broker.pipeline(transaction=False) as pipe:
            for priority, tenant in tenants:
                name = f"{_turns(priority)}:{tenant}"
                pipe.zrange(name, 0, MEASURED_JOBS - 1, withscores=True)
            answers: list[Any] = await await_redis(pipe.execute())
        for (priority, _), jobs in zip(tenants, answers, strict=True):
            oldest[priority] += [(job, score / 1e6) for job, score in jobs]
        return oldest

    async def _select_queued(self, job_ids: set[bytes]) -> set[bytes]:
        """The jobs that are still queued. The index may also list a job that was cancelled."""
        ordered_ids = list(job_ids)
        async with self._record.pipeline(transaction=False) as pipe:
            for job_id in ordered_ids:
                pipe.hget(JobKeys(job_id.decode()).record, "status")
            statuses = await await_redis(pipe.execute())
        queued = str(Status.QUEUED).encode()
        return {
            job_id for job_id, status in zip(ordered_ids, statuses, strict=True) if status == queued
        }


def _turns(priority: Priority) -> str:
    return f"{PREFIX}ready:{priority}"
