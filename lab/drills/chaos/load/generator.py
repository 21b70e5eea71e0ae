"""Load: the jobs of a schedule, each with its client, and at most a given number at once."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from typing import Any

import structlog

from lab.drills.chaos.deployment.provider import task_of
from lab.drills.chaos.load.client import ChaosClient
from lab.drills.chaos.load.job import JobClient
from lab.drills.chaos.load.repositories import Repositories
from lab.drills.chaos.schedule import JobPlan

MOST_AT_ONCE = 8
"""The number of concurrent jobs. A kill hits a share of them. Jobs that are hit twice get separate
processes, which take two seconds to load: with 20 jobs, two cores did not recover from a busy
moment.
"""

STEPS = ["Do it.", "Run it.", "Say what came of it."]
log = structlog.get_logger("chaos")


class Load:
    """`failures` are errors of the clients."""

    def __init__(self, client: ChaosClient) -> None:
        self._client = client
        self._prefix = f"chaos-{secrets.token_hex(3)}"
        self._slots = asyncio.Semaphore(MOST_AT_ONCE)
        self._jobs: set[asyncio.Task[None]] = set()
        self._last: JobClient | None = None
        self._repositories = Repositories()
        self.failures: list[str] = []

    async def submit_all(self, plans: Sequence[JobPlan], seconds: float) -> None:
        """Start each job at its time, or as soon as a slot is free, within this number of
        seconds.
        """
        started_at = time.monotonic()
        for plan in plans:
            await asyncio.sleep(max(started_at + plan.at - time.monotonic(), 0))
            await self._slots.acquire()
            if time.monotonic() - started_at > seconds:
                return
            self._begin(plan)

    async def come_to_rest(self, seconds: float) -> None:
        """Wait for every job's end, as long as a job ends within each interval."""
        all_ended = True
        while self._jobs and all_ended:
            first_completed = asyncio.FIRST_COMPLETED
            all_ended = bool(
                (await asyncio.wait(self._jobs, timeout=seconds, return_when=first_completed))[0]
            )
        for job in self._jobs:
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    def _begin(self, plan: JobPlan) -> None:
        key = f"{self._prefix}-{plan.number}"
        spec = _spec(plan, key)
        first = self._followed() if plan.follows else None
        if first is not None:
            spec["conversation_id"] = first.job_id.result()
        bundle = self._repositories.next() if plan.repo else None
        job = JobClient(plan, key, spec, self._client, first.talk if first else None, bundle)
        if bundle is None:
            self._last = first or job
        task = asyncio.create_task(self._run(job))
        self._jobs.add(task)
        task.add_done_callback(self._note_end)

    def _followed(self) -> JobClient | None:
        """The previous job of a conversation, if the next job continues one."""
        if (last := self._last) is None or not last.job_id.done() or last.talk.waits:
            return None
        last.talk.followed = True
        return last

    async def _run(self, job: JobClient) -> None:
        try:
            await job.run()
        except* RuntimeError as group:
            self.failures += [str(error) for error in group.exceptions]

    def _note_end(self, job: asyncio.Task[None]) -> None:
        self._jobs.discard(job)
        self._slots.release()
        if not job.cancelled() and (error := job.exception()) is not None:
            log.error("a client failed", exc_info=error)
            self.failures.append(repr(error))


def _spec(plan: JobPlan, key: str) -> dict[str, Any]:
    """A job's body; the provider knows the job by its key."""
    task = task_of(key, plan.recording)
    spec: dict[str, Any] = {"task": task, "review": plan.review, "labels": ["chaos"]}
    return {**spec, "steps": STEPS} if plan.steps else spec
