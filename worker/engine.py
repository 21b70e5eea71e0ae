"""Engine: an event loop in a thread of its own that works on jobs; Celery gives it hints.

The main thread belongs to Celery (signals, hints). Measured with 500 running jobs, one loop for
each process needs half the processor time and two thirds of the memory of one thread for each job.

See ADR 2.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Coroutine, Mapping
from typing import Any

import structlog
import uvloop

from jobs.model.fleet import FleetRules
from jobs.queue.hints import Hints
from jobs.redis.connection import ANSWER_SECONDS
from jobs.service import Operations
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore
from settings.worker import WorkerSettings
from worker.background.announcement import announcement
from worker.background.audit import AuditWork, audit_work, seal_forever
from worker.background.courier import send_forever
from worker.background.fleet import RulesInForce, open_fleet, policy_of, retention_of
from worker.background.heartbeat import Leases, LoopWatchdog
from worker.background.model_check import answer_forever
from worker.background.periodic import index_forever, remove_forever, sweep_forever
from worker.context import WorkerContext, build_context
from worker.egress.webhooks import sender
from worker.failures import abort_if_exhausted
from worker.health import WorkerHealth, serve_health
from worker.metrics import WorkerFigures
from worker.readiness import FRESH_SECONDS, Readiness
from worker.slots import JobSlots, stop_cancelled
from worker.store import open_store, usable

PROBE_SECONDS = 3.0
"""The time that `/readyz` waits for a try of the storage."""

log = structlog.get_logger("worker.process")


class Engine:
    """Works on jobs from `start` to `stop`. `draining`: whether it takes no more jobs."""

    def __init__(self, settings: WorkerSettings, worker_id: str) -> None:
        self._settings = settings
        self._worker_id = worker_id
        self._loop = uvloop.new_event_loop()
        self._loop.set_exception_handler(abort_if_exhausted)
        self._thread = threading.Thread(target=self._loop.run_forever, name="jobs", daemon=True)
        self._hints = Hints(settings.broker_url.url)
        self._opened = contextlib.AsyncExitStack()
        self._slots: JobSlots | None = None
        self.draining = False
        self._figures = WorkerFigures(settings.concurrency)
        self._health = WorkerHealth(
            stuck_seconds=settings.stuck_seconds,
            seen_seconds=settings.worker_seen_seconds,
            draining=lambda: self.draining,
        )

    def start(self) -> None:
        """Start the thread and the loop. Raises jobs.errors.JobsError if Redis or the key of the
        audit log cannot be used."""
        self._thread.start()
        try:
            self._call(self._open())
        except BaseException:
            self._end()
            raise

    @property
    def has_model(self) -> bool:
        """Whether the worker's default model could be built, if it has one."""
        return self._health.model is not None and bool(self._health.model()["works"])

    def take(self, job_id: str) -> None:
        """Take a hint; wait until a slot is free and the sandbox works. For any thread."""
        self._call(self._running_slots().take(job_id))

    def work_alone(self, job_id: str) -> None:
        """Work on this job only, to the attempt's end."""
        self._call(self._running_slots().work_alone(job_id))

    def request_drain(self) -> None:
        """Stop every graph at its next step; return at once, also during the start."""
        self.draining = True
        if self._slots is not None:
            drain = self._slots.drain(self._settings.drain_seconds)
            asyncio.run_coroutine_threadsafe(drain, self._loop)

    def stop(self) -> None:
        """Drain, close sandboxes and connections, end the thread."""
        try:
            self._call(self._opened.aclose())
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._hints.close()

    def _call(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _running_slots(self) -> JobSlots:
        if self._slots is None:
            raise RuntimeError("the engine was not started")
        return self._slots

    async def _open(self) -> None:
        async with contextlib.AsyncExitStack() as opened:
            settings = self._settings
            audit = audit_work(settings)
            await opened.enter_async_context(self._health.watch_loop(self._figures))
            if (port := settings.worker_metrics_port) is not None:
                host = settings.worker_metrics_host
                opened.enter_context(serve_health(host, port, self._figures, self._health))
            store = open_store(settings, self._figures)
            opened.push_async_callback(store.close)
            if await usable(settings, store, lambda: self.draining):
                self._slots = await self._build(store, audit, opened)
            self._opened = opened.pop_all()

    async def _build(
        self, store: RedisStore, audit: AuditWork, opened: contextlib.AsyncExitStack
    ) -> JobSlots:
        """Start all parts. `opened` closes them in reverse order."""
        settings = self._settings
        fleet = await open_fleet(store, settings, self._worker_id)
        operations = Operations(
            store, self._hints.hint, policy_of(fleet.rules), webhooks=bool(settings.webhook_url)
        )
        context = build_context(settings, store, self._figures)
        opened.push_async_callback(context.close)
        readiness, servers = context.readiness, context.tools.servers
        await readiness.try_now()
        facts = announcement(settings)
        slots = JobSlots(self._worker_id, operations, context, settings.concurrency)
        leases = Leases(
            self._worker_id,
            settings.redis_url.url,
            lease_seconds=fleet.rules.lease_seconds,
            heartbeat_seconds=fleet.rules.heartbeat_seconds,
            leases=slots.leases,
            lost=lambda lease: self._stop_soon(slots, lease),
            facts=lambda: {
                **facts,
                **readiness.facts(),
                **fleet.facts(),
                "model_servers": context.models.pool.facts(),
                "tool_servers": servers.facts(),
            },
            drain=_stop_this_process,
            accepted=self._health.record_heartbeat,
            pulse=LoopWatchdog(self._loop.call_soon_threadsafe, settings.stuck_seconds),
        )
        self._health.sandbox = readiness.sandbox.facts
        self._health.storage = lambda: self._storage_facts(readiness.storage)
        self._health.model = readiness.model.facts
        self._figures.watch(
            "fettle_worker_busy_slots", "Jobs that it holds", lambda: len(slots.leases())
        )
        leases.start()
        opened.push_async_callback(asyncio.to_thread, leases.stop)
        await opened.enter_async_context(readiness.keep_trying())
        forever = (
            stop_cancelled(store, slots),
            answer_forever(store, context),
            context.models.pool.learn_contexts_forever(),
            servers.list_forever(),
            audit.run_forever(store),
            self._run_periodic_work(fleet, store, operations, leases, context),
        )
        for work in forever:
            opened.push_async_callback(_cancel, _start_part(work))
        opened.push_async_callback(slots.drain, settings.drain_seconds)
        return slots

    async def _run_periodic_work(
        self,
        fleet: RulesInForce,
        store: RedisStore,
        operations: Operations,
        leases: Leases,
        context: WorkerContext,
    ) -> None:
        """Do the periodic work at the intervals of the fleet's rules, until cancelled. When the
        rules change, the work starts again with the new rules."""
        while True:
            rules, changed = fleet.rules, asyncio.Event()
            operations.policy = policy_of(rules)
            context.retries = rules.retries
            leases.use(rules.lease_seconds, rules.heartbeat_seconds)
            retention, pause = retention_of(rules), rules.retention_sweep_seconds
            tasks = [
                _start_part(work)
                for work in (
                    sweep_forever(operations, rules.sweep_seconds, grace=_grace(rules)),
                    remove_forever(store, context.files.blobs, retention, pause),
                    index_forever(store, rules.sweep_seconds),
                    seal_forever(store, rules.sweep_seconds),
                    send_forever(store, sender(self._settings), rules.sweep_seconds),
                    fleet.follow(store, changed.set),
                )
            ]
            try:
                await changed.wait()
            finally:
                await asyncio.gather(*map(_cancel, tasks))

    def _storage_facts(self, storage: Readiness) -> Mapping[str, Any]:
        """The facts of the storage; tries it first if the last try is old. For other threads."""
        probe = asyncio.run_coroutine_threadsafe(storage.try_if_older(FRESH_SECONDS), self._loop)
        with contextlib.suppress(TimeoutError, RuntimeError):
            probe.result(PROBE_SECONDS)
        if probe.done():
            return storage.facts()
        return {**storage.facts(), "works": False, "why": "it has not answered a probe yet"}

    def _stop_soon(self, slots: JobSlots, lease: LeaseRef) -> None:
        self._loop.call_soon_threadsafe(slots.lease_lost, lease)


def _stop_this_process() -> None:
    """Send the signal that a supervisor would send: the main thread handles every stop."""
    os.kill(os.getpid(), signal.SIGTERM)


def _grace(rules: FleetRules) -> float:
    """The seconds in which every running worker renews its leases after an outage of Redis: a
    heartbeat that hangs must time out first."""
    return 2 * rules.heartbeat_seconds + ANSWER_SECONDS


def _start_part(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task for a part of the worker that must run as long as the process."""
    task = asyncio.create_task(work)
    task.add_done_callback(_log_failure)
    return task


def _log_failure(task: asyncio.Task[None]) -> None:
    """Log that a part has failed that must run as long as the process."""
    if not task.cancelled() and (error := task.exception()):
        log.critical("a part of this worker has ended", exc_info=error)


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
