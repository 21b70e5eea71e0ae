"""JobSlots: the jobs that this process works on: claim, stop, drain. One event loop.

Why: docs/decisions/0004-cancel-is-final-at-once.md
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
from jobs.model.record import JobRecord
from jobs.service import Operations
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Refusal
from worker.attempt import Attempt
from worker.context import WorkerContext
from worker.graph_runner import GraphRunner
from worker.isolation import IsolatedRunner
from worker.ledger import AttemptWriter
from worker.resumption import left_to_nobody
from worker.store import retry_while_unavailable

HAND_OVER_SECONDS = 5.0
"""How long the jobs that a drain has cut short may take to be given back."""

PASS_ON_SECONDS = 0.5
"""The mean pause before a hint is passed on."""
READ_SECONDS = 0.1
AGAIN_SECONDS = 1.0

log = structlog.get_logger("worker.attempts")


@dataclass(frozen=True, slots=True)
class Running:
    """An attempt at work."""

    control: RunControl
    work: asyncio.Task[None]


class JobSlots:
    """At most `slots` attempts at once. All methods but `held` belong to the loop's thread."""

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
        self._held: tuple[LeaseRef, ...] = ()
        self._starting: set[asyncio.Task[None]] = set()
        self._claiming: set[str] = set()
        self._passing_on = False
        self._draining = asyncio.Event()
        self._isolated = IsolatedRunner(operations.store, self._draining)
        self._drained: asyncio.Task[None] | None = None

    def held(self) -> tuple[LeaseRef, ...]:
        """The leases of this process; safe to call from any thread."""
        return self._held

    async def take(self, job_id: str) -> None:
        """Answer a hint: returns as soon as there is a slot, so that no hint is taken too early.

        A worker whose sandbox is broken holds this one hint, and so keeps from fetching others,
        which belong to workers that can do something. A worker that drains takes nothing. Either
        way the job stays due, and the sweeper has another worker hinted.
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
        """Work on one job that crashed before, unless nothing could be run here. The process was
        made for it, and ends with it: a claim that Redis did not answer is made again.
        """
        if not self._context.readiness.works:
            log.warning("job waits for a sandbox that works", job_id=job_id)
            return
        try:
            await retry_while_unavailable(
                lambda: self.work(job_id, alone=True), self._context.patience
            )
        except (StoreUnavailable, Contended) as error:
            log.warning("job left to another process", job_id=job_id, error=str(error))

    async def work(self, job_id: str, *, alone: bool) -> None:
        """Claim a job and work on it to the attempt's end.

        A second hint for a job that is being claimed, or runs alone, is dropped.
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
            held, work = self._begin(claimed)
        finally:
            self._claiming.discard(job_id)
        try:
            await asyncio.wait({work})
        finally:
            del self._running[held]
            self._held = tuple(self._running)

    async def _claim_unreadable(
        self, job_id: str, alone: bool, refusal: Refusal
    ) -> JobRecord | Refusal:
        """A job that this worker cannot resume belongs to those that can. Where there is none, the
        attempt only asks a person.
        """
        if await left_to_nobody(self._operations.store, job_id):
            return await self._claim(job_id, alone, reads=None)
        log.info("job left to a worker that reads it", job_id=job_id, why=refusal.detail)
        await self._pass_on(job_id)
        return refusal

    async def _pass_on(self, job_id: str) -> None:
        """Send the hint again a little later: a worker that reads the job may receive it.

        The sweeper's hints come ever further apart, and at equal times, so that one worker may
        receive them all. One hint at a time is passed on: a worker must not be busy with those of
        a thousand jobs.
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
        self, job_id: str, alone: bool, reads: Collection[int] | None = READS
    ) -> JobRecord | Refusal:
        """A claim whose answer was lost may have been granted: then it is given back, since nobody
        would look at the job until that lease has run out, and that would count as a crash.
        """
        try:
            return await self._operations.claim(job_id, self._worker_id, alone=alone, reads=reads)
        except StoreUnavailable:
            loaded = await retry_while_unavailable(lambda: self._operations.store.load(job_id))
            if loaded is not None:
                await self._disown(loaded.record)
            raise

    async def _disown(self, record: JobRecord) -> None:
        held = LeaseRef(record.id, record.epoch)
        ours = record.lease is not None and record.lease.worker == self._worker_id
        if ours and held not in self._running:
            await self._operations.requeue(held, "the answer to its claim was lost")

    def _begin(self, claimed: JobRecord) -> tuple[LeaseRef, asyncio.Task[None]]:
        """Set an attempt to work.

        A cancel that was told before the attempt is known here meets its first write, which comes
        before any call.
        """
        control = RunControl()
        if self._draining.is_set():
            control.request_drain()
        lease = LeaseRef(claimed.id, claimed.epoch)
        writer = AttemptWriter(self._operations.store, lease, patience=self._context.patience)
        runner = GraphRunner(claimed, self._operations, self._context, control, writer)
        work = asyncio.create_task(Attempt(runner).run())
        self._running[lease] = Running(control, work)
        self._held = tuple(self._running)
        return lease, work

    def stop_job(self, job_id: str) -> None:
        """End the attempts at a job: it was cancelled. Kills its sandboxes."""
        for held in self._held:
            if held.job_id == job_id:
                self._stop_soon(held, lost=False)

    def lease_lost(self, held: LeaseRef) -> None:
        """End an attempt: its lease is lost. Kills its sandboxes."""
        self._stop_soon(held, lost=True)

    def _stop_soon(self, held: LeaseRef, *, lost: bool) -> None:
        """An answer that has come already, as it has where the whole process was frozen, is read
        before: its price is on no record yet. And an attempt that has just let go of its job in
        good order has no lease either, until it is forgotten here: nothing is wrong with that one.
        """
        if held in self._running:
            asyncio.get_running_loop().call_later(READ_SECONDS, self._stop, held, lost)

    def _stop(self, held: LeaseRef, lost: bool) -> None:
        running = self._running.get(held)
        if running is None or running.work.done():
            return
        if not running.work.cancelling():  # said once, done until it is over
            if lost:
                log.warning("lease lost", job_id=held.job_id, epoch=held.epoch)
            log.info("attempt stopped", job_id=held.job_id)
        running.work.cancel()

    async def drain(self, seconds: float) -> None:
        """Stop taking jobs; let each graph stop at its next step, and end what has not by then.

        Asked again, it is the first drain that is waited for.
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
        """Wait for something; False, without having it, where the worker drains before."""
        having = asyncio.create_task(awaited)
        drained = asyncio.create_task(self._draining.wait())
        await asyncio.wait({drained, having}, return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()
        if not having.done():
            having.cancel()
        return having.done() and not self._draining.is_set()

    async def _start(self, job_id: str) -> None:
        try:
            await self.work(job_id, alone=False)
        except (StoreUnavailable, Contended) as error:
            log.warning("hint dropped", job_id=job_id, error=str(error))
        finally:
            self._slots.release()


async def stop_cancelled(store: RedisStore, slots: JobSlots) -> None:
    """Stop cancelled jobs at once; a heartbeat finds those whose message was lost."""
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
    """Check every job that is held, when a message may have been missed."""
    for held in slots.held():
        if not await store.owns(held):
            slots.lease_lost(held)
