"""Ready: which job a hint stands for, so that tenants take turns within a priority (ADR 34).

A hint in the broker says that there is work of a priority. The jobs are listed here by tenant, and
the worker that receives a hint takes the job whose turn it is. Like the hints, the list is kept in
the broker and may be lost, doubled or stale.

A job that waits before a retry, or for another of its conversation, is not listed. So the list
shows how long jobs wait for a worker. The record does not: a job's `due_at` moves with each
reminder.

Why: docs/decisions/0034-tenants-take-turns.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.redis.connection import ask, lua
from jobs.redis.keys import PREFIX, JobKeys

if TYPE_CHECKING:
    from redis import Redis
    from redis.asyncio import Redis as AsyncRedis

MOST_OF_A_TENANT = 10_000
"""Jobs of a tenant that stand here in one priority; the sweeper makes up for the others."""
TENANTS_LOOKED_AT, JOBS_LOOKED_AT = 50, 20
"""In each priority: the tenants whose turn comes next, and of each the jobs that came first."""


class Ready:
    """The jobs with a hint in one broker, for synchronous clients. Raises redis' errors."""

    def __init__(self, redis: Redis) -> None:
        self._add = redis.register_script(lua("ready"))
        self._next = redis.register_script(lua("next"))

    def add(self, job_id: str, priority: Priority, tenant: str) -> None:
        """List a job as ready; does nothing where it is listed already."""
        turns = _turns(priority)
        self._add(keys=[turns, f"{turns}:{tenant}"], args=[tenant, job_id, MOST_OF_A_TENANT])

    def next(self, priority: Priority) -> str | None:
        """Take the job whose turn it is; None where none is known."""
        turns = _turns(priority)
        found: list[bytes] = self._next(keys=[turns], args=[f"{turns}:"])
        return found[0].decode() if found else None


class Waiting:
    """How long jobs have waited. For asynchronous clients of the broker and of the record; raises
    StoreUnavailable.
    """

    def __init__(self, broker: AsyncRedis, record: AsyncRedis) -> None:
        self._broker, self._record = broker, record

    async def longest(self) -> Mapping[Priority, float]:
        """Seconds since the first of those that still wait was hinted at, by priority; 0: none.

        A hint that a worker has received no longer counts, though it may wait for a free slot: the
        job is listed again at its next reminder. After the loss of the broker's data the times
        start from zero.
        """
        now, lines = await self._lines()
        firsts = await self._firsts(lines)
        queued = await self._queued({job for jobs in firsts.values() for job, _ in jobs})
        return {
            priority: max((now - since for job, since in jobs if job in queued), default=0.0)
            for priority, jobs in firsts.items()
        }

    async def _lines(self) -> tuple[float, Mapping[Priority, Sequence[bytes]]]:
        """The time, and whose turn is next, by priority."""
        async with self._broker.pipeline(transaction=False) as pipe:
            pipe.time()
            for priority in Priority:
                pipe.lrange(_turns(priority), 0, TENANTS_LOOKED_AT - 1)
            (seconds, micros), *tenants = await ask(pipe.execute())
        return seconds + micros / 1e6, dict(zip(Priority, tenants, strict=True))

    async def _firsts(
        self, lines: Mapping[Priority, Sequence[bytes]]
    ) -> Mapping[Priority, Sequence[tuple[bytes, float]]]:
        """The jobs that came first, and when, by priority."""
        places = [(priority, tenant.decode()) for priority in lines for tenant in lines[priority]]
        found: dict[Priority, list[tuple[bytes, float]]] = {priority: [] for priority in lines}
        async with self._broker.pipeline(transaction=False) as pipe:
            for priority, tenant in places:
                name = f"{_turns(priority)}:{tenant}"
                pipe.zrange(name, 0, JOBS_LOOKED_AT - 1, withscores=True)
            answers: list[Any] = await ask(pipe.execute())
        for (priority, _), jobs in zip(places, answers, strict=True):
            found[priority] += [(job, score / 1e6) for job, score in jobs]
        return found

    async def _queued(self, jobs: set[bytes]) -> set[bytes]:
        """Those that still wait; a cancelled one is listed until its hint is received."""
        asked = list(jobs)
        async with self._record.pipeline(transaction=False) as pipe:
            for job in asked:
                pipe.hget(JobKeys(job.decode()).record, "status")
            answers = await ask(pipe.execute())
        waits = str(Status.QUEUED).encode()
        return {job for job, status in zip(asked, answers, strict=True) if status == waits}


def _turns(priority: Priority) -> str:
    return f"{PREFIX}ready:{priority}"
