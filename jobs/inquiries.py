"""Inquiries: a question that any one worker answers, while the one who asks waits.

For what only a worker can know, such as whether a model answers. Nothing of it is kept: who gets no
answer asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from jobs import keys
from jobs.redis_full import urgent_script
from jobs.redis_listener import Listener
from jobs.redis_reach import reached, reaching
from jobs.redis_script import SCRIPTS

TAKEN_MS = 120_000


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked; `subject` says of what kind it is."""

    id: str
    subject: str
    data: Mapping[str, Any]


class Inquiries:
    """Over Redis' channels. Raises StoreUnavailable."""

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._first = urgent_script(redis, (SCRIPTS / "turn.lua").read_text())
        self._listener = listener

    async def ask(
        self, subject: str, data: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any] | None:
        """A worker's answer; None where none listens, or none answered in time."""
        inquiry = secrets.token_hex(8)
        async with reaching(), self._listener.subscribed(keys.answers(inquiry)) as heard:
            asked = json.dumps({"id": inquiry, "subject": subject, "data": data})
            if not await self._redis.publish(keys.INQUIRIES, asked):
                return None
            message = await heard.next(seconds)
        return json.loads(message) if message else None

    @contextlib.asynccontextmanager
    async def asked(self) -> AsyncIterator[asyncio.Queue[str]]:
        """The questions from now on, for `take`; empty ones say that some may have been missed."""
        async with reaching(), self._listener.subscribed(keys.INQUIRIES) as heard:
            yield heard.queue

    async def take(self, message: str) -> Inquiry | None:
        """The question in a message, if it is this worker that is to answer it."""
        inquiry = Inquiry(**json.loads(message))
        key = keys.inquiry(inquiry.id)
        taken = await reached(self._first(keys=[key], args=[TAKEN_MS]))
        return inquiry if taken else None

    async def answer(self, inquiry: Inquiry, data: Mapping[str, Any]) -> None:
        """Answer it."""
        await reached(self._redis.publish(keys.answers(inquiry.id), json.dumps(data)))
