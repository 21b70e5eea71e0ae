"""Charges as Redis keeps them: five values by call id, and beside them what is out of a cache."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace

from redis.asyncio import Redis

from jobs import redis_index, redis_numbers
from jobs.counting import paid
from jobs.errors import Contended
from jobs.keys import JobKeys
from jobs.numbers import day_of
from jobs.redis_commit import Commit
from jobs.redis_reach import reached
from jobs.redis_script import Step, field_is
from jobs.store import Charge, Loaded

CHARGE_TRIES = 20


class RedisCharges:
    """Posts what was paid. `load` tells how a job stands: see Store."""

    def __init__(
        self, redis: Redis, commit: Commit, load: Callable[[str], Awaitable[Loaded | None]]
    ) -> None:
        self._redis = redis
        self._commit = commit
        self._load = load

    async def post(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Those that are new; of a job that is gone none."""
        for charge in charges:
            await self._post(JobKeys(job_id), charge)

    async def _post(self, job: JobKeys, charge: Charge) -> None:
        """One that comes behind the job's end counts on the day on which it comes; the others are
        counted by the end, so that the job must not end in between."""
        commands = tuple(redis_index.charged(job, charge))
        for _ in range(CHARGE_TRIES):
            if (loaded := await self._load(job.id)) is None:
                return  # nothing would ever remove what is kept of it now
            stands = field_is(job.record, "status", str(loaded.record.status))
            if loaded.record.status.final:
                day = day_of(loaded.now)
                counts = redis_numbers.added(loaded.record.tenant, day, paid([charge]))
                is_new = field_is(job.charges, charge.call, "")
                step = Step(job, (stands, is_new), commands=(*commands, *counts))
                if await self._commit.apply_although_full(step):
                    return
            if await self._commit.apply_although_full(Step(job, (stands,), commands=commands)):
                return
        raise Contended(f"job {job.id} kept changing")

    async def of(self, job_id: str) -> Sequence[Charge]:
        """Everything that was paid for a job."""
        job = JobKeys(job_id)
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(job.charges)
            pipe.hgetall(job.spend)
            posted, beside = await reached(pipe.execute())
        return [
            replace(
                charge, cached_input_tokens=int(beside.get(f"cached:{charge.call}".encode(), 0))
            )
            for charge in listed(posted)
        ]


def listed(posted: Mapping[bytes, bytes]) -> list[Charge]:
    """The charges of a hash, without what stands beside it."""
    return [Charge(call.decode(), *json.loads(body)[:5]) for call, body in posted.items()]
