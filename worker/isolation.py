"""IsolatedRunner: jobs that crashed twice in a row run in a process of their own (J7).

Why: docs/decisions/0048-lone-jobs-start-an-interpreter.md
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

import structlog

from jobs.errors import StoreUnavailable
from jobs.model.record import Status
from jobs.store.redis_store import RedisStore

AT_ONCE = 2
"""Processes at once: each takes memory of a worker's, and may be what takes all there is."""
START_MS = 30_000
"""A process that was started claims its job within this time. It does so also where the worker that
started it has died: so no other may be started earlier."""
LOOK_SECONDS = 1.0
"""How often to look whether a job whose process another worker has started was claimed."""
MOST_WAITING = 100
"""Jobs that wait for their turn here; the sweeper hints at those beyond, ever further apart."""

log = structlog.get_logger("worker.isolation")


class IsolatedRunner:
    """One a worker; belongs to its loop's thread. One process in the fleet for each job, however
    many hints come meanwhile.
    """

    def __init__(self, store: RedisStore, draining: asyncio.Event) -> None:
        self._store = store
        self._draining = draining
        self._free = asyncio.Semaphore(AT_ONCE)
        self._jobs: dict[str, asyncio.Task[None]] = {}

    @property
    def under_way(self) -> frozenset[asyncio.Task[None]]:
        """What has to end before the worker does; soon, once it drains."""
        return frozenset(self._jobs.values())

    def start(self, job_id: str) -> None:
        """Have a job worked on, as soon as there is room for its process; returns at once."""
        if job_id not in self._jobs and len(self._jobs) < MOST_WAITING:
            self._jobs[job_id] = asyncio.create_task(self._run(job_id))

    async def _run(self, job_id: str) -> None:
        """Start the job's process; or wait while another worker does, which may die before."""
        try:
            while not await self._settled(job_id):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._draining.wait(), LOOK_SECONDS)
        except StoreUnavailable as error:
            log.warning("hint dropped", job_id=job_id, error=str(error))
        finally:
            del self._jobs[job_id]

    async def _settled(self, job_id: str) -> bool:
        """Whether nothing is left to do here: the job's process has ended, or it needs none."""
        async with self._free:
            lock = None if self._draining.is_set() else await self._lock_of(job_id)
            if lock is None:
                return True
            if not await self._store.leader.try_acquire(lock, START_MS):
                return False
            try:
                await self._process(job_id)
            finally:
                await self._store.leader.release(lock)  # where it ended before its claim, go on
            return True

    async def _lock_of(self, job_id: str) -> str | None:
        """The lock on the job's next claim; None where it does not wait for one."""
        loaded = await self._store.load(job_id)
        if loaded is None or loaded.record.status is not Status.QUEUED:
            return None
        return f"alone:{job_id}:{loaded.record.epoch}"

    async def _process(self, job_id: str) -> None:
        """Work on one job in a worker of its own, to the attempt's end; drains with this one."""
        log.warning("job runs alone", job_id=job_id)
        # as this worker was started: a folder `worker` in the working directory is not ours
        safe = ["-P"] if sys.flags.safe_path else []
        argv = [sys.executable, *safe, "-m", "worker", "--alone", job_id]
        process = await asyncio.create_subprocess_exec(*argv)
        ended = asyncio.create_task(process.wait())
        drained = asyncio.create_task(self._draining.wait())
        await asyncio.wait({ended, drained}, return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()
        if not ended.done():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        if code := await ended:
            log.warning("job's own process ended", job_id=job_id, exit_code=code)
