"""Messages over Redis channels, which are stored nowhere: streamed tokens, questions to workers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from jobs.redis import keys
from jobs.redis.connection import ask, lua, translate_redis_errors, urgent_script
from jobs.redis.keys import JobKeys
from jobs.redis.listener import Listener

TAKEN_MS = 120_000


class Tokens:
    """The output of models while it streams, for readers who watch. These are no events, and
    nothing is stored (J12). A channel per job; raises StoreUnavailable.
    """

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._listener = listener

    async def publish(self, said: Mapping[str, str]) -> frozenset[str]:
        """Send one message for each of some jobs, in one round trip; returns the jobs that have a
        listener.
        """
        async with self._redis.pipeline(transaction=False) as pipeline:
            for job_id, message in said.items():
                pipeline.publish(JobKeys(job_id).tokens, message)
            counts = await ask(pipeline.execute())
        return frozenset(job_id for job_id, count in zip(said, counts, strict=True) if count)

    @contextlib.asynccontextmanager
    async def subscribe(self, job_id: str) -> AsyncIterator[asyncio.Queue[str]]:
        """A job's messages from now on; an empty one says that some may have been missed."""
        name = JobKeys(job_id).tokens
        async with translate_redis_errors(), self._listener.subscribed(name) as heard:
            yield heard.queue


@dataclass(frozen=True, slots=True)
class Question:
    """A question; `subject` names its kind."""

    id: str
    subject: str
    data: Mapping[str, Any]


class WorkerRpc:
    """Questions that any one worker answers while the caller waits, such as whether a model
    answers. Nothing is stored: a caller without an answer asks again. Raises StoreUnavailable.
    """

    def __init__(self, redis: Redis, listener: Listener) -> None:
        self._redis = redis
        self._first = urgent_script(redis, lua("acquire"))
        self._listener = listener

    async def call(
        self, subject: str, data: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any] | None:
        """A worker's answer; None where none listens, or none answered in time."""
        name = secrets.token_hex(8)
        async with (
            translate_redis_errors(),
            self._listener.subscribed(keys.answers(name)) as heard,
        ):
            question = json.dumps({"id": name, "subject": subject, "data": data})
            if not await self._redis.publish(keys.INQUIRIES, question):
                return None
            message = await heard.next(seconds)
        return json.loads(message) if message else None

    @contextlib.asynccontextmanager
    async def questions(self) -> AsyncIterator[asyncio.Queue[str]]:
        """The questions from now on, for `take`; empty ones say that some may have been missed."""
        async with translate_redis_errors(), self._listener.subscribed(keys.INQUIRIES) as heard:
            yield heard.queue

    async def take(self, message: str) -> Question | None:
        """The question in a message, if this worker is the one to answer it."""
        question = Question(**json.loads(message))
        taken = await ask(self._first(keys=[keys.inquiry(question.id)], args=[TAKEN_MS]))
        return question if taken else None

    async def answer(self, question: Question, data: Mapping[str, Any]) -> None:
        """Answer it."""
        await ask(self._redis.publish(keys.answers(question.id), json.dumps(data)))
