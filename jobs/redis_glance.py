"""Glance: what a list says of a job beyond its record, for many jobs in one round trip."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from jobs import view
from jobs.keys import JobKeys
from jobs.redis_reach import reached
from jobs.store import Charge

TAIL = 16
"""A job's newest events: one of them tells its revision."""


@dataclass(frozen=True, slots=True)
class Glance:
    """`revision` is the newest that is known; `spend` as `view.cost` tells it."""

    revision: int
    spend: Mapping[str, Any]


async def glances(redis: Redis, job_ids: Sequence[str]) -> Mapping[str, Glance]:
    """A glance at each of these jobs. Raises StoreUnavailable."""
    async with redis.pipeline(transaction=False) as pipe:
        for job_id in job_ids:
            job = JobKeys(job_id)
            pipe.hvals(job.charges)
            pipe.lrange(job.events, -TAIL, -1)
        found = await reached(pipe.execute())
    pairs = zip(found[::2], found[1::2], strict=True)
    return {
        job_id: Glance(_revision(tail), _spend(paid))
        for job_id, (paid, tail) in zip(job_ids, pairs, strict=True)
    }


def _spend(paid: Sequence[bytes]) -> Mapping[str, Any]:
    told: Mapping[str, Any] = view.cost(Charge("", *json.loads(body)) for body in paid)["total"]
    return told


def _revision(tail: Sequence[bytes]) -> int:
    for stored in reversed(tail):
        data = json.loads(stored.partition(b" ")[2])["data"]
        if isinstance(revision := data.get("revision"), int):
            return revision
    return 0
