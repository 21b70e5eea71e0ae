"""Reading: the jobs in a deployment's store after all jobs have come to rest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from redis.asyncio import Redis

from jobs.model.codec import read_event, read_record
from jobs.model.events import Event
from jobs.model.record import JobRecord, Status
from jobs.redis import keys
from jobs.redis.keys import JobKeys

TOGETHER = 200
"""The number of jobs that one round trip reads."""
REST_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class JobRead:
    """A job at rest. `facts` counts the keys of its events, `charges` are the ids of charged calls,
    `line` is the key of its conversation's line. `over`: no job can continue it, and the keys of
    its events are removed.
    """

    id: str
    status: Status
    attempts: int
    crashes: int
    events: Sequence[Event]
    epoch: int
    due_at: int
    leased: bool
    line: str
    facts: int
    charges: frozenset[str]
    reason: str | None = None
    review_id: str | None = None
    retry_of: str | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Indexes:
    """The indexes of jobs: `lines` by conversation key, `listed` by status."""

    due: Mapping[str, int]
    awaiting_review: frozenset[str]
    finished: frozenset[str]
    lines: Mapping[str, Sequence[str]]
    listed: Mapping[Status, frozenset[str]]
    counts: Mapping[str, int]
    once: Mapping[str, str]
    """The job of an idempotency key."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All jobs by id, and the store's lists of jobs."""

    jobs: Mapping[str, JobRead]
    indexes: Indexes


async def of_store(redis: Redis, tenant: str = "default") -> Reading:
    """Read a complete deployment. If it is not at rest, the reading may contradict itself."""
    ids = [member.decode() for member in await _list(redis.zrange(keys.listing(tenant), 0, -1))]
    jobs: dict[str, JobRead] = {}
    for start in range(0, len(ids), TOGETHER):
        for job in await _jobs(redis, ids[start : start + TOGETHER]):
            jobs[job.id] = job
    return Reading(jobs, await _indexes(redis, tenant))


async def at_rest(redis: Redis, seconds: float) -> None:
    """Return when no job is queued or running, or after this number of seconds. A client without an
    answer may have started a job that no client follows.
    """
    for _ in range(round(seconds / REST_SECONDS)):
        if not await redis.zcard(keys.DUE):
            return
        await asyncio.sleep(REST_SECONDS)


def lines(reading: Reading) -> Iterator[str]:
    """The jobs as JSON, one line each, for a person who reads the log of a broken rule."""
    for job in reading.jobs.values():
        body = {**asdict(job), "charges": sorted(job.charges)}
        yield json.dumps(body, ensure_ascii=False, separators=(",", ":"))


async def _jobs(redis: Redis, ids: Sequence[str]) -> Sequence[JobRead]:
    async with redis.pipeline(transaction=False) as pipe:
        for job_id in ids:
            job = JobKeys(job_id)
            pipe.hgetall(job.record)
            pipe.lrange(job.events, 0, -1)
            pipe.scard(job.facts)
            pipe.hkeys(job.charges)
        replies = await pipe.execute()
    parts = [replies[start : start + 4] for start in range(0, len(replies), 4)]
    return [_job(*part) for part in parts if part[0]]


def _job(
    fields: Mapping[bytes, bytes],
    bodies: Sequence[bytes],
    facts: int,
    charges: Sequence[bytes],
) -> JobRead:
    record = read_record({name.decode(): value.decode() for name, value in fields.items()})
    events = tuple(read_event(seq, body) for seq, body in enumerate(bodies, 1))
    return job_read(record, events, facts, frozenset(call.decode() for call in charges))


def job_read(
    record: JobRecord, events: Sequence[Event], facts: int, charges: frozenset[str]
) -> JobRead:
    """A job from its record and its other keys."""
    return JobRead(
        id=record.id,
        status=record.status,
        attempts=record.attempts,
        crashes=record.crashes,
        events=events,
        epoch=record.epoch,
        due_at=record.due_at,
        leased=record.lease is not None,
        line=keys.line(record.tenant, record.conversation_id),
        facts=facts,
        charges=charges,
        reason=record.reason,
        review_id=record.review.id if record.review else None,
        retry_of=record.spec.retry_of,
        over=record.cannot_continue,
    )


async def _indexes(redis: Redis, tenant: str) -> Indexes:
    due = await _list(redis.zrange(keys.DUE, 0, -1, withscores=True))
    counts = await _dict(redis.hgetall(keys.COUNTS))
    lines, once = {}, {}
    async for key in redis.scan_iter(match=f"{keys.PREFIX}line:*", count=1_000):
        lines[key.decode()] = [m.decode() for m in await _list(redis.lrange(key, 0, -1))]
    prefix = keys.once(tenant, "")
    async for key in redis.scan_iter(match=f"{prefix}*", count=1_000):
        stands = await cast("Awaitable[bytes | None]", redis.hget(key, "job"))
        if stands is not None:
            once[key.decode().removeprefix(prefix)] = stands.decode()
    return Indexes(
        due={member.decode(): int(score) for member, score in due},
        awaiting_review=await _set(redis, keys.AWAITING_REVIEW),
        finished=await _set(redis, keys.FINISHED),
        lines=lines,
        listed={
            status: await _set(redis, keys.listing(tenant, "status", status)) for status in Status
        },
        counts={name.decode(): int(count) for name, count in counts.items()},
        once=once,
    )


async def _set(redis: Redis, key: str) -> frozenset[str]:
    return frozenset(member.decode() for member in await _list(redis.zrange(key, 0, -1)))


async def _list(reply: Any) -> list[Any]:
    return list(await cast("Awaitable[Sequence[Any]]", reply))


async def _dict(reply: Any) -> dict[bytes, bytes]:
    return dict(await cast("Awaitable[Mapping[bytes, bytes]]", reply))
