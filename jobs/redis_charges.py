"""Charges as Redis keeps them: five values by call id, and beside them what is out of a cache."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from redis.asyncio import Redis

from jobs.keys import JobKeys
from jobs.redis_reach import reached
from jobs.store import Charge


async def read(redis: Redis, job: JobKeys) -> Sequence[Charge]:
    """Everything that was paid for a job. Raises StoreUnavailable."""
    async with redis.pipeline(transaction=False) as pipe:
        pipe.hgetall(job.charges)
        pipe.hgetall(job.spend)
        posted, beside = await reached(pipe.execute())
    return [
        replace(charge, cached_input_tokens=int(beside.get(f"cached:{charge.call}".encode(), 0)))
        for charge in listed(posted)
    ]


def listed(posted: Mapping[bytes, bytes]) -> list[Charge]:
    """The charges of a hash, without what stands beside it."""
    return [Charge(call.decode(), *json.loads(body)[:5]) for call, body in posted.items()]
