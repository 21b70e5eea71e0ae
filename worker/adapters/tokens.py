"""LiveTokens: the streamed output of this process' models and runs, sent in batches to watching
clients."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from agents.models.call_context import TokenListener
from agents.models.streams import Chunk
from jobs.errors import StoreUnavailable
from jobs.redis.channels import TokenChannel

BATCH_SECONDS = 0.08
"""The time between two batches. A batch is one round trip to Redis for all jobs of a process."""
DEAF_SECONDS = 1.0
"""The time in which no tokens are sent for a job that no client watches."""

Message = dict[str, str | int | float]
"""{call, role, part, text, try}: see docs/api.md."""


class LiveTokens:
    """Sends the tokens of one process. No model call waits for it: it drops tokens if Redis
    fails."""

    def __init__(self, tokens: TokenChannel) -> None:
        self._tokens = tokens
        self._waiting: dict[str, list[Message]] = {}
        self._deaf_until: dict[str, float] = {}
        self._sending: asyncio.Task[None] | None = None

    def of(self, job_id: str) -> JobTokens:
        """The streams of one job."""
        return JobTokens(self, job_id)

    def send(self, job_id: str, message: Message) -> None:
        """Send a message with the next batch, if a client watches the job."""
        deaf_until = self._deaf_until.get(job_id)
        if deaf_until is not None and asyncio.get_running_loop().time() < deaf_until:
            return
        waiting = self._waiting.setdefault(job_id, [])
        if waiting and _joins(waiting[-1], message):
            waiting[-1]["text"] = f"{waiting[-1]['text']}{message['text']}"
        else:
            waiting.append(message)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())

    def drop(self, job_id: str, call: str) -> None:
        """Remove the waiting messages of a call."""
        remaining = [
            message for message in self._waiting.pop(job_id, ()) if message["call"] != call
        ]
        if remaining:
            self._waiting[job_id] = remaining

    async def close(self) -> None:
        """Send no more."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        while True:
            await asyncio.sleep(BATCH_SECONDS)
            if not self._waiting:
                return
            waiting, self._waiting = self._waiting, {}
            heard: frozenset[str] = frozenset()
            with contextlib.suppress(StoreUnavailable):
                batches = {job_id: json.dumps(messages) for job_id, messages in waiting.items()}
                heard = await self._tokens.publish(batches)
            now = asyncio.get_running_loop().time()
            deaf = {job_id: until for job_id, until in self._deaf_until.items() if until > now}
            deaf |= {job_id: now + DEAF_SECONDS for job_id in waiting if job_id not in heard}
            self._deaf_until = deaf
            # messages that arrived during the request to Redis
            self._waiting = {job: more for job, more in self._waiting.items() if job not in deaf}


@dataclass(frozen=True, slots=True)
class JobTokens:
    """Implements the port TokenStreams for one job."""

    live: LiveTokens
    job_id: str

    def of(self, call: str, role: str) -> TokenListener:
        """See agents.attempt.TokenStreams."""
        return _Call(self, call, role)


@dataclass(slots=True)
class _Call:
    """Implements TokenListener for one model call."""

    job: JobTokens
    call: str
    role: str
    tries: int = 0

    def begin(self) -> None:
        self.tries += 1

    def receive(self, chunks: Sequence[Chunk]) -> None:
        for chunk in chunks:
            message: Message = {"call": self.call, "role": self.role, "part": chunk.part}
            self.job.live.send(self.job.job_id, {**message, "text": chunk.text, "try": self.tries})

    def end(self) -> None:
        self.job.live.drop(self.job.job_id, self.call)


def _joins(last: Message, message: Message) -> bool:
    return all(last[name] == message[name] for name in ("call", "part", "try"))
