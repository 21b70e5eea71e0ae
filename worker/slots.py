"""JobSlots: the jobs that this process works on: claim, stop, drain. One event loop.

See ADR 4.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Collection, Coroutine
from dataclasses import dataclass
from typing import Any

import structlog
from langgraph.runtime import RunControl

from agents.graph.checkpoint_format import READS
from jobs.errors import Contended, StoreUnavailable
from jobs.model.record import Cause, JobRecord
from jobs.service import Operations
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Refusal
from worker.attempt import Attempt
from worker.context import WorkerContext
from worker.graph_runner import GraphRunner
from worker.isolation import IsolatedRunner
from worker.ledger import AttemptWriter
from worker.resumption import no_worker_reads

HAND_OVER_SECONDS = 5.0
"""The time in which a drain returns the jobs that it has cut short to the queue."""

PASS_ON_SECONDS = 0.5
"""The mean pause before a hint is passed on."""
READ_SECONDS = 0.1
"""The time in which an attempt reads a reply that has arrived before the attempt is stopped."""
AGAIN_SECONDS = 1.0

log = structlog.get_logger("worker.attempts")


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt at work."""

    control: RunControl
    work: asyncio.Task[None]


class JobSlots:
    """At most `slots` attempts at once. All methods except `leases` belong to the loop's thread."""

    def __init__(
        self,
        worker_id: str,
        operations: Operations,
        context: WorkerContext,
        slots: int,
    ) -> None:
        self._worker_id = worker_id
        self._operations = operations
        self._context = context
        self._slots = asyncio.Semaphore(slots)
        self._running: dict[LeaseRef, Running] = {}
        self._leases: tuple[LeaseRef, ...] = ()
        self._starting: set[asyncio.Task[None]] = set()
        self._claiming: set[str] = set()
        self._passing_on = False
        self._draining = asyncio.Event()
        self._isolated = IsolatedRunner(operations.store, self._draining)
        self._drained: asyncio.Task[None] | None = None

    def leases(self) -> tuple[LeaseRef, ...]:
        """The leases of this process; safe to call from any thread."""
        return self._leases

    async def take(self, job_id: str) -> None:
        """Take a hint: return when a slot is free, so that Celery fetches no hint too early.

        A worker with a broken sandbox keeps this hint and fetches no other hint: workers with a
        working sandbox get them. A worker that drains drops the hint. In both cases the job stays
        due, and the sweeper sends another hint.
        """
        ready = self._context.readiness
        if not ready.works and not await self._unless_draining(ready.wait()):
            return
        if not await self._unless_draining(self._slots.acquire()):
            return
        starting = asyncio.create_task(self._start(job_id))
        self._starting.add(starting)
        starting.add_done_callback(self._starting.discard)

    async def work_alone(self, job_id: str) -> None:
        """Work on one job that crashed before, if the sandbox works. This process was started for
        the job and ends with it: if Redis does not answer the claim, the claim is tried again.
        """
        if not self._context.readiness.works:
            log.warning("job waits for a sandbox that works", job_id=job_id)
            return
        try:
            await self._context.patience.retry(lambda: self.work(job_id, alone=True))
        except (StoreUnavailable, Contended) as error:
            log.warning("job left to another process", job_id=job_id, error=str(error))

    async def work(self, job_id: str, *, alone: bool) -> None:
        """Claim a job and work on it to the attempt's end.

        Drop a second hint for a job that is being claimed, or that runs alone.
        """
        if job_id in self._claiming:
            return
        self._claiming.add(job_id)
        try:
            claimed = await self._claim(job_id, alone)
            if isinstance(claimed, Refusal) and claimed.code == "unreadable":
                claimed = await self._claim_unreadable(job_id, alone, claimed)
            if isinstance(claimed, Refusal):
                if claimed.code == "alone" and not alone:
                    self._isolated.start(job_id)
                return
            lease, work = self._begin(claimed)
        finally:
            self._claiming.discard(job_id)
        try:
            await asyncio.wait({work})
        finally:
            del self._running[lease]
            self._leases = tuple(self._running)

    async def _claim_unreadable(
        self, job_id: str, alone: bool, refusal: Refusal
    ) -> JobRecord | Refusal:
        """Leave a job that this worker cannot resume to a worker that can. If there is no such
        worker, claim the job: the attempt then asks a person.
        """
        if await no_worker_reads(self._operations.store, job_id):
            return await self._claim(job_id, alone, readable=None)
        log.info("job left to a worker that reads it", job_id=job_id, why=refusal.detail)
        await self._pass_on(job_id)
        return refusal

    async def _pass_on(self, job_id: str) -> None:
        """Send the hint again a little later: a worker that reads the job may receive it.

        The pauses between the sweeper's hints grow, and one worker may receive all of them. This
        worker passes on one hint at a time: the hints of a thousand jobs must not keep it busy.
        """
        if self._passing_on:
            return
        self._passing_on = True
        try:
            await asyncio.sleep(PASS_ON_SECONDS * (0.5 + random.random()))  # noqa: S311 - jitter
            await self._operations.hint_again(job_id)
        finally:
            self._passing_on = False

    async def _claim(
        self, job_id: str, alone: bool, readable: Collection[int] | None = READS
    ) -> JobRecord | Refusal:
        """Claim a job. If Redis does not answer, the claim may have been granted: then requeue the
        job. Otherwise its lease would expire, and that would count as a crash.
        """
        try:
            return await self._operations.claim(
                job_id, self._worker_id, alone=alone, readable=readable
            )
        except StoreUnavailable:
            loaded = await self._context.patience.retry(lambda: self._operations.store.load(job_id))
            if loaded is not None:
                await self._disown(loaded.record)
            raise

    async def _disown(self, record: JobRecord) -> None:
        lease = LeaseRef(record.id, record.epoch)
        ours = record.lease is not None and record.lease.worker == self._worker_id
        if ours and lease not in self._running:
            await self._operations.requeue(lease, "the answer to its claim was lost", Cause.REDIS)

    def _begin(self, claimed: JobRecord) -> tuple[LeaseRef, asyncio.Task[None]]:
        """Start an attempt.

        If the job was cancelled before the attempt is in `_running`, the first write of the attempt
        fails; it comes before the first call.
        """
        control = RunControl()
        if self._draining.is_set():
            control.request_drain()
        lease = LeaseRef(claimed.id, claimed.epoch)
        writer = AttemptWriter(self._operations.store, lease, self._context.patience)
        runner = GraphRunner(claimed, self._operations, self._context, control, writer)
        work = asyncio.create_task(Attempt(runner).run())
        self._running[lease] = Running(control, work)
        self._leases = tuple(self._running)
        return lease, work

    def stop_job(self, job_id: str) -> None:
        """Stop the attempts at a cancelled job. Kills its sandboxes."""
        for lease in self._leases:
            if lease.job_id == job_id:
                self._stop_soon(lease, lost=False)

    def lease_lost(self, lease: LeaseRef) -> None:
        """Stop an attempt that has lost its lease. Kills its sandboxes."""
        self._stop_soon(lease, lost=True)

    def _stop_soon(self, lease: LeaseRef, *, lost: bool) -> None:
        """Stop an attempt after READ_SECONDS. If the whole process was frozen, a reply may have
        arrived that is not read yet; its price must be recorded. And an attempt that has just
        released its job has no lease either: it ends by itself in that time.
        """
        if lease in self._running:
            asyncio.get_running_loop().call_later(READ_SECONDS, self._stop, lease, lost)

    def _stop(self, lease: LeaseRef, lost: bool) -> None:
        running = self._running.get(lease)
        if running is None or running.work.done():
            return
        if not running.work.cancelling():  # log it only once
            if lost:
                log.warning("lease lost", job_id=lease.job_id, epoch=lease.epoch)
            log.info("attempt stopped", job_id=lease.job_id)
        running.work.cancel()

    async def drain(self, seconds: float) -> None:
        """Take no more jobs, and let each graph stop at its next step. After `seconds`, cancel the
        attempts that still run. A second call waits for the first drain.
        """
        if self._drained is None:
            self._drained = asyncio.create_task(self._drain(seconds))
        await asyncio.shield(self._drained)

    async def _drain(self, seconds: float) -> None:
        self._draining.set()
        for running in self._running.values():
            running.control.request_drain()
        if waiting := self._under_way():
            await asyncio.wait(waiting, timeout=seconds)
        for running in self._running.values():
            running.work.cancel()
        if waiting := self._under_way():
            await asyncio.wait(waiting, timeout=HAND_OVER_SECONDS)

    def _under_way(self) -> set[asyncio.Task[None]]:
        working = {running.work for running in self._running.values()}
        return working | self._starting | self._isolated.under_way

    async def _unless_draining(self, awaited: Coroutine[Any, Any, object]) -> bool:
        """Wait for `awaited`. Return False, and cancel it, if the worker drains first."""
        waiting = asyncio.create_task(awaited)
        draining = asyncio.create_task(self._draining.wait())
        await asyncio.wait({draining, waiting}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        if not waiting.done():
            waiting.cancel()
        return waiting.done() and not self._draining.is_set()

    async def _start(self, job_id: str) -> None:
        try:
            await self.work(job_id, alone=False)
        except (StoreUnavailable, Contended) as error:
            log.warning("hint dropped", job_id=job_id, error=str(error))
        finally:
            self._slots.release()


async def stop_cancelled(store: RedisStore, slots: JobSlots) -> None:
    """Stop cancelled jobs at once, until cancelled. If a message is lost, a heartbeat finds the
    cancelled job."""
    while True:
        with contextlib.suppress(StoreUnavailable):
            async with store.stops() as stopped:
                await _stop_lost(store, slots)
                while True:
                    if job_id := await stopped.get():
                        slots.stop_job(job_id)
                    else:
                        await _stop_lost(store, slots)
        await asyncio.sleep(AGAIN_SECONDS)


async def _stop_lost(store: RedisStore, slots: JobSlots) -> None:
    """Check every lease of this process, because a message may have been missed."""
    for lease in slots.leases():
        if not await store.owns(lease):
            slots.lease_lost(lease)
