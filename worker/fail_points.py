"""Fail points of a worker: see jobs.fail_point.

Each is right before or right after a write, since a crash between two writes has the same effect.
Without the setting, no code of this module runs.

| before_, after_ | what is written |
|---|---|
| claim | the lease: before it, a hint was taken and no worker has the job |
| journal | a finished model call or tool call, with its cost and its events |
| checkpoint | a step of the graph, or what one of its nodes has returned |
| pause | the question to a person |
| release | the job goes back to the queue: a drain, a retry, a lease that ran out |
| end | the final state |
"""

from __future__ import annotations

from enum import StrEnum

from redis.asyncio import Redis

from jobs.fail_point import FailPoint
from jobs.model.record import JobRecord, Status
from jobs.store import ConversationEntry, Writes
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Change


class Written(StrEnum):
    """What a point is before or after."""

    CLAIM = "claim"
    JOURNAL = "journal"
    CHECKPOINT = "checkpoint"
    PAUSE = "pause"
    RELEASE = "release"
    END = "end"


class MortalStore(RedisStore):
    """The store of a worker that dies at a point of its own."""

    def __init__(self, redis: Redis, replicas: int, point: FailPoint) -> None:
        super().__init__(redis, replicas)
        self._point = point

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """See RedisStore."""
        with self._point.around(step(before.status, change.after.status)):
            return await super().commit(before, change, entry=entry, first=first)

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See RedisStore."""
        journal = Written.JOURNAL if writes.journal else None
        checkpoint = Written.CHECKPOINT if writes.commands else None
        with self._point.around(journal), self._point.around(checkpoint):
            await super().write(job_id, epoch, writes)


def step(before: Status, after: Status) -> Written | None:
    """What a change of a job's status is for a worker; None where it stays as it is."""
    if before is after:
        return None
    if after.final:
        return Written.END
    return {
        Status.RUNNING: Written.CLAIM,
        Status.AWAITING_REVIEW: Written.PAUSE,
        Status.QUEUED: Written.RELEASE,
    }[after]
