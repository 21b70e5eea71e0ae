"""Decisions: a tenant's log of the events by which persons decided, over all its jobs.

A member of the log is `job:number`, the number of the event. A commit adds it, and it is removed
with its job. The audit log (`jobs.store.audit`) keeps decisions longer.
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
from jobs.redis.connection import RedisCommand, await_redis
from jobs.redis.keys import JobKeys
from jobs.store.types import Cursor
from jobs.transitions.change import Change

VOTE_ACTIONS = {"voted": "approve", "vote_withdrawn": "withdraw"}
"""The actions of events of votes, by kind."""
DECISION_KINDS = (*VOTE_ACTIONS, "decided")
COLUMNS = (
    *("at", "job_id", "event", "kind", "review_id", "action", "by", "key_id", "approvals"),
    *("override", "digest", "digest_named", "feedback", "comments", "person", "evidence", "rules"),
)


@dataclass(frozen=True, slots=True)
class DecisionEvent:
    """An event that is a decision, and its job."""

    job_id: str
    event: Event


class Decisions:
    """Reads the log. Raises StoreUnavailable."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def between(
        self,
        tenant: str,
        start: int,
        end: int,
        *,
        limit: int,
        offset: int,
        cursor: Cursor | None = None,
    ) -> tuple[Sequence[DecisionEvent], int, Cursor | None]:
        """The decisions from `start` up to before `end` (ms), oldest first: a page of them, the
        total number, and the position after the page if decisions follow. `cursor`: only decisions
        after it; then `offset` is 0."""
        name, before = keys.decisions(tenant), f"({end}"
        first: int | str = start
        count = offset
        async with self._redis.pipeline() as pipe:
            pipe.zcount(name, start, before)
            if cursor is not None:
                pipe.zrangebyscore(name, cursor.at, cursor.at, withscores=True)
                first, count = f"({cursor.at}", cursor.count
            pipe.zrangebyscore(name, first, before, offset, limit + 1, withscores=True)
            total, *parts = await await_redis(pipe.execute())
        rows = [(int(at), member.decode()) for part in parts for member, at in part]
        if cursor is not None:
            rows = [row for row in rows if row > (cursor.at, cursor.id)]
        page = rows[:limit]
        following = Cursor(*page[-1], count + limit) if len(rows) > limit else None
        return await self.read_members([member for _, member in page]), total, following

    async def read_members(self, members: Sequence[str]) -> Sequence[DecisionEvent]:
        """The decisions that members of the log name. Decisions of removed jobs are left out."""
        positions = [_read_member(member) for member in members]
        async with self._redis.pipeline(transaction=False) as pipe:
            for job_id, seq in positions:
                pipe.lindex(JobKeys(job_id).events, seq - 1)
            stored = await await_redis(pipe.execute())
        return [
            DecisionEvent(job_id, read_event(seq, body))
            for (job_id, seq), body in zip(positions, stored, strict=True)
            if body
        ]

    async def members_of(self, record: JobRecord) -> Sequence[str]:
        """The members of the log that belong to a job."""
        members = await await_redis(self._redis.lrange(JobKeys(record.id).decided, 0, -1))
        return [member.decode() for member in members]


def list_decisions(change: Change) -> Iterator[RedisCommand]:
    """Add the decisions of a change to the log."""
    after = change.after
    for event in change.events:
        if event.kind in DECISION_KINDS:
            job_decisions = JobKeys(after.id).decided
            log = keys.decisions(after.tenant)
            yield ("LIST_DECISION", log, job_decisions, after.id, event.key)


def remove_decisions(record: JobRecord, members: Sequence[str]) -> Iterator[RedisCommand]:
    """Remove the decisions of a job from the log."""
    for member in members:
        yield ("ZREM", keys.decisions(record.tenant), member)


def _read_member(member: str) -> tuple[str, int]:
    job_id, _, seq = member.rpartition(":")
    return job_id, int(seq)


def decision_row(decision: DecisionEvent, at: str | None) -> dict[str, Any]:
    """A decision as a row with COLUMNS. Null: the event has no such field."""
    data = decision.event.data
    votes, evidence = data.get("approvals"), data.get("evidence")
    return {
        "at": at,
        "job_id": decision.job_id,
        "event": decision.event.seq,
        "kind": decision.event.kind,
        "review_id": data.get("review_id"),
        "action": data.get("action", VOTE_ACTIONS.get(decision.event.kind)),
        "by": data.get("by"),
        "key_id": data.get("key_id"),
        "approvals": " and ".join(votes) if isinstance(votes, list) else None,
        "override": data.get("override"),
        "digest": data.get("digest"),
        "digest_named": data.get("digest_named"),
        "feedback": data.get("feedback"),
        "comments": data.get("comments"),
        "person": data.get("person"),
        "evidence": f"{evidence['level']}: {evidence['reason']}" if evidence else None,
        "rules": ", ".join(data.get("rules", ())) or None,
    }
