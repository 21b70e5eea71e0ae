"""Attempts: the jobs that this process holds. Slots for new ones, stop, drain. One event loop."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass

import structlog
from langgraph.runtime import RunControl

from jobs.errors import Contended, StoreUnavailable
from jobs.lifecycle import Refusal
from jobs.operations import Operations
from jobs.store import Held
from worker.attempt import Attempt
from worker.equipment import Equipment

log = structlog.get_logger("worker.attempts")


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt at work."""

    control: RunControl
    work: asyncio.Task[None]


class Attempts:
    """At most `slots` attempts at once. All methods but `held` belong to the loop's thread."""

    def __init__(
        self, worker_id: str, operations: Operations, equipment: Equipment, slots: int
    ) -> None:
        self._worker_id = worker_id
        self._operations = operations
        self._equipment = equipment
        self._slots = asyncio.Semaphore(slots)
        self._running: dict[Held, Running] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._draining = asyncio.Event()

    def held(self) -> tuple[Held, ...]:
        """The leases of this process; safe to call from any thread (it copies in one step)."""
        return tuple(self._running)

    async def take(self, job_id: str) -> None:
        """Answer a hint: returns as soon as there is a slot, so that no hint is taken too early.

        A worker that drains takes nothing; the job stays due, and another worker is hinted.
        """
        if not await self._slot():
            return
        starting = asyncio.create_task(self._start(job_id))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)

    async def work(self, job_id: str, *, alone: bool) -> None:
        """Claim a job and work on it to the attempt's end."""
        claimed = await self._operations.claim(job_id, self._worker_id, alone=alone)
        if isinstance(claimed, Refusal):
            if claimed.code == "alone" and not alone:
                await self._elsewhere(job_id)
            return
        control = RunControl()
        if self._draining.is_set():
            control.request_drain()
        attempt = Attempt(claimed, self._operations, self._equipment, control)
        work = asyncio.create_task(attempt.run())
        self._running[attempt.held] = Running(control, work)
        try:
            await asyncio.wait({work})
        finally:
            del self._running[attempt.held]
            self._equipment.release(attempt.held)
        if not work.cancelled():
            work.result()

    def stop_job(self, job_id: str) -> None:
        """End the attempts at a job now: it was cancelled. Kills its rooms."""
        for held in self.held():
            if held.job_id == job_id:
                self.stop(held)

    def stop(self, held: Held) -> None:
        """End an attempt now: its lease is lost."""
        if (running := self._running.get(held)) is not None:
            log.info("attempt stopped", job_id=held.job_id)
            running.work.cancel()

    async def drain(self, seconds: float) -> None:
        """Stop taking jobs; let each graph stop at its next step, and end what has not by then."""
        self._draining.set()
        for running in self._running.values():
            running.control.request_drain()
        waiting = {running.work for running in self._running.values()} | self._starting
        if waiting:
            await asyncio.wait(waiting, timeout=seconds)
        for running in list(self._running.values()):
            running.work.cancel()
        if self._starting:
            await asyncio.wait(self._starting, timeout=5)

    async def _slot(self) -> bool:
        if self._draining.is_set():
            return False
        drained = asyncio.create_task(self._draining.wait())
        free = asyncio.create_task(self._slots.acquire())
        await asyncio.wait({drained, free}, return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()
        if not free.done():
            free.cancel()
            return False
        return True

    async def _start(self, job_id: str) -> None:
        try:
            await self.work(job_id, alone=False)
        except (StoreUnavailable, Contended) as error:
            log.warning("hint dropped", job_id=job_id, error=str(error))
        finally:
            self._slots.release()

    async def _elsewhere(self, job_id: str) -> None:
        """Run a job that crashed twice in a process of its own, so that it harms no other (J7)."""
        log.warning("job runs alone", job_id=job_id)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "worker", "--alone", job_id
        )
        await process.wait()
