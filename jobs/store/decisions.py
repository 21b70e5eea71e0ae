"""Decisions: who decided what, over all jobs of a tenant: which event of which job, by its time.

A commit adds them. They are kept as long as their jobs; export them to keep them longer
(docs/review.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from jobs.model.codec import read_event
from jobs.model.events import Event
from jobs.model.record import JobRecord
from jobs.redis import keys
from jobs.redis.connection import Command, ask
from jobs.redis.keys import JobKeys
from jobs.transitions.change import Change

KINDS = ("voted", "decided")
COLUMNS = (
    *("at", "job_id", "event", "kind", "review_id", "action", "by", "key_id", "approvals"),
    *("override", "digest", "digest_named", "feedback", "comments", "person"),
)


@dataclass(frozen=True, slots=True)
class Decided:
    """An event of a job that is a decision."""

    job_id: str
    event: Event


class Decisions:
    """Reads alone: a commit writes them. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def between(
        self, tenant: str, start: int, end: int, *, limit: int, offset: int
    ) -> tuple[Sequence[Decided], int]:
        """Those made from `start` on and before `end` (ms), the oldest first; and how many."""
        name, before = keys.decisions(tenant), f"({end}"
        async with self._redis.pipeline(transaction=False) as pipe:
            pipe.zcount(name, start, before)
            pipe.zrangebyscore(name, start, before, offset, limit)
            total, members = await ask(pipe.execute())
            places = [_place(member) for member in members]
            for job_id, seq in places:
                pipe.lindex(JobKeys(job_id).events, seq - 1)
            stored = await ask(pipe.execute())
        return [
            Decided(job_id, read_event(seq, body))
            for (job_id, seq), body in zip(places, stored, strict=True)
            if body
        ], total

    async def of(self, record: JobRecord) -> Sequence[str]:
        """What of a job is noted."""
        return [
            each.decode()
            for each in await ask(self._redis.lrange(JobKeys(record.id).decided, 0, -1))
        ]


def recorded(change: Change) -> Iterator[Command]:
    """The commands that note what a change decides."""
    after = change.after
    for event in change.events:
        if event.kind in KINDS:
            decided = JobKeys(after.id).decided
            yield ("NOTE", keys.decisions(after.tenant), decided, after.id, event.key)


def left(record: JobRecord, notes: Sequence[str]) -> Iterator[Command]:
    """The commands that take a job's out."""
    for each in notes:
        yield ("ZREM", keys.decisions(record.tenant), each)


def _place(member: bytes) -> tuple[str, int]:
    job_id, _, seq = member.decode().rpartition(":")
    return job_id, int(seq)


def row(decided: Decided, at: str | None) -> dict[str, Any]:
    """A decision with COLUMNS; what an older release has not recorded is null."""
    data = decided.event.data
    votes = data.get("approvals")
    return {
        "at": at,
        "job_id": decided.job_id,
        "event": decided.event.seq,
        "kind": decided.event.kind,
        "review_id": data.get("review_id"),
        "action": data.get("action", "approve"),
        "by": data.get("by"),
        "key_id": data.get("key_id"),
        "approvals": " and ".join(votes) if isinstance(votes, list) else None,
        "override": data.get("override"),
        "digest": data.get("digest"),
        "digest_named": data.get("digest_named"),
        "feedback": data.get("feedback"),
        "comments": data.get("comments"),
        "person": data.get("person"),
    }
