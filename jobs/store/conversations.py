"""Conversations in Redis: the line of jobs that are not final, and the finished turns."""

from __future__ import annotations

import json
from collections.abc import Sequence

from redis.asyncio import Redis

from jobs import keys
from jobs.record import JobRecord
from jobs.store.connection import ask
from jobs.store.types import Turn


class Conversations:
    """Reads alone: a commit writes them."""

    def __init__(self, redis: Redis) -> None:
        self._redis = redis

    async def head(self, tenant: str, conversation_id: str) -> str | None:
        """The job at the head of a line."""
        found = await ask(self._redis.lindex(keys.line(tenant, conversation_id), 0))
        return found.decode() if found else None

    async def turns(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """The last of them, newest first."""
        if limit < 1:
            return []
        return [_turn(body) for body in await self._stored(tenant, conversation_id, limit - 1)]

    async def stored_of(self, record: JobRecord) -> list[str]:
        """A job's turns, as they are stored."""
        stored = await self._stored(record.tenant, record.conversation_id, -1)
        return [body.decode() for body in stored if _turn(body).job_id == record.id]

    async def _stored(self, tenant: str, conversation_id: str, last: int) -> Sequence[bytes]:
        found: Sequence[bytes] = await ask(
            self._redis.lrange(keys.turns(tenant, conversation_id), 0, last)
        )
        return found


def _turn(body: bytes) -> Turn:
    return Turn(*json.loads(body))
