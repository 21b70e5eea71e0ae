"""JobClient: a job as its client sees it: submit, follow, decide, cancel, disconnect, reconnect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

from fettle.events import FINAL
from lab.drills.chaos.load.client import ChaosClient
from lab.drills.chaos.oplog import Answered
from lab.drills.chaos.schedule import JobPlan

AGAIN_SECONDS = 0.3
PASSING = frozenset({429, 500, 502, 503, 504})
"""Answers after which a client may repeat the request."""

A = TypeVar("A", bound=Answered)


@dataclass
class Talk:
    """A conversation. Its jobs run one after another, so a job that waits for a person delays later
    jobs. Therefore no job is left waiting if other jobs follow (`followed`), and no job is added
    after a job that `waits`.
    """

    followed: bool = False
    waits: bool = False


class JobClient:
    """One job. `spec` is the body of its submission, `bundle` is its repository."""

    def __init__(
        self,
        plan: JobPlan,
        key: str,
        spec: Mapping[str, Any],
        client: ChaosClient,
        talk: Talk | None = None,
        bundle: bytes | None = None,
    ) -> None:
        self._plan = plan
        self._key = key
        self._spec = spec
        self._bundle = bundle
        self._client = client
        self._answers = list(plan.answers)
        self.job_id: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.talk = talk or Talk()

    async def run(self) -> None:
        """Follow the job to its end, or to a review without a decision. Raises RuntimeError if the
        service refuses the job, or loses its change of a repository.
        """
        job_id = await self._submitted()
        self.job_id.set_result(job_id)
        async with asyncio.TaskGroup() as doing:
            if self._plan.cancel_after is not None:
                doing.create_task(self._cancel(job_id, self._plan.cancel_after))
            if self._plan.resubmits or self._plan.other_body:
                doing.create_task(self._ask_again())
            await self._follow(job_id, doing)
        job = await self._client.read_job(job_id)
        if self._bundle and job is not None and job["status"] == "succeeded":
            _require_patch(job)
        if self._plan.retry and job is not None and job["status"] in FINAL:
            await self._retry(job_id)

    async def _retry(self, job_id: str) -> None:
        """Request a retry, and follow it to its end. A job that succeeded has no retry."""
        entry = await self._insist(lambda: self._client.retry(job_id))
        if not entry.granted or entry.retry_job is None:
            return
        self._answers = ["approve"]
        async with asyncio.TaskGroup() as doing:
            await self._follow(entry.retry_job, doing)
        await self._client.read_job(entry.retry_job)

    async def _submitted(self) -> str:
        while True:
            entry = await self._client.submit(self._key, self._spec, self._bundle)
            if entry.granted and entry.job_id:
                return entry.job_id
            if entry.status is not None and entry.status not in PASSING:
                raise RuntimeError(f"the service refused a job: {entry.status}")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _ask_again(self) -> None:
        """Repeat the key: with the same body the service returns the same job, with another body it
        refuses.
        """
        for _ in range(self._plan.resubmits):
            await self._client.submit(self._key, self._spec, self._bundle)
        if self._plan.other_body:
            changed_spec = {**self._spec, "max_revisions": 1}
            await self._client.submit(self._key, changed_spec, self._bundle)

    async def _cancel(self, job_id: str, after: float) -> None:
        await asyncio.sleep(after)
        await self._insist(lambda: self._client.cancel(job_id))

    async def _follow(self, job_id: str, doing: asyncio.TaskGroup) -> None:
        """Read events until the final event; disconnect and reconnect as planned."""
        after, drops = 0, set(self._plan.drops)
        while True:
            async with aclosing(self._client.events(job_id, self._key, after)) as events:
                async for event in events:
                    after = event.seq
                    if event.final:
                        return
                    if event.kind == "review_opened":
                        if (action := self._answer()) is None:
                            return
                        doing.create_task(self._decide(job_id, event.data["review_id"], action))
                    if event.seq in drops:
                        drops.discard(event.seq)
                        break

    def _answer(self) -> str | None:
        """The decision on the next review; None if the review is left open."""
        if self._answers:
            return self._answers.pop(0)
        if self.talk.followed:
            return "approve"
        self.talk.waits = True
        return None

    async def _decide(self, job_id: str, review_id: str, action: str) -> None:
        await asyncio.sleep(self._plan.think)
        if self._plan.stale:
            await self._client.decide(job_id, f"not-{review_id}"[:200], action)
        copies = [
            self._insist(lambda: self._client.decide(job_id, review_id, action))
            for _ in range(self._plan.copies)
        ]
        await asyncio.gather(*copies)

    async def _insist(self, ask: Callable[[], Awaitable[A]]) -> A:
        """Repeat the request until there is an answer."""
        while True:
            entry = await ask()
            if entry.status is not None and entry.status not in PASSING:
                return entry
            await asyncio.sleep(AGAIN_SECONDS)


def _require_patch(job: Mapping[str, Any]) -> None:
    if not job["result"]["patch"]:
        raise RuntimeError(f"job {job['id']} succeeded without a patch of its repository")
