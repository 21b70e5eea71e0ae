"""IsolatedRunner: jobs that crashed twice in a row run in a process of their own (J7).

See ADR 48.
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
"""The most processes at once. Each needs the memory of a worker, and its job may use up more."""
START_MS = 30_000
"""A started process claims its job within this time, even if the worker that started it has died:
no other process may be started earlier."""
LOOK_SECONDS = 1.0
"""How often to check whether the process that another worker has started has claimed the job."""
MOST_WAITING = 100
"""Jobs that wait for their turn here; the sweeper sends later hints for the others."""

log = structlog.get_logger("worker.isolation")


class IsolatedRunner:
    """Runs jobs alone. It belongs to the thread of the worker's loop. The fleet has at most one
    process for each job, even if several hints arrive.
    """

    def __init__(self, store: RedisStore, draining: asyncio.Event) -> None:
        self._store = store
        self._draining = draining
        self._free = asyncio.Semaphore(AT_ONCE)
        self._jobs: dict[str, asyncio.Task[None]] = {}

    @property
    def under_way(self) -> frozenset[asyncio.Task[None]]:
        """The tasks that the worker waits for before it ends. They end soon when it drains."""
        return frozenset(self._jobs.values())

    def start(self, job_id: str) -> None:
        """Start a process for the job when fewer than AT_ONCE run; return at once."""
        if job_id not in self._jobs and len(self._jobs) < MOST_WAITING:
            self._jobs[job_id] = asyncio.create_task(self._run(job_id))

    async def _run(self, job_id: str) -> None:
        """Start the job's process, or wait until the process of another worker has claimed the
        job."""
        try:
            while not await self._start_or_wait(job_id):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._draining.wait(), LOOK_SECONDS)
        except StoreUnavailable as error:
            log.warning("hint dropped", job_id=job_id, error=str(error))
        finally:
            del self._jobs[job_id]

    async def _start_or_wait(self, job_id: str) -> bool:
        """Start the process if no other worker has. Return whether this job is done here."""
        async with self._free:
            lock = None if self._draining.is_set() else await self._lock_of(job_id)
            if lock is None:
                return True
            if not await self._store.leader.try_acquire(lock, START_MS):
                return False
            try:
                await self._process(job_id)
            finally:
                await self._store.leader.release(
                    lock
                )  # if it ended before its claim, another process may start
            return True

    async def _lock_of(self, job_id: str) -> str | None:
        """The name of the lock on the job's next claim; None if the job is not queued."""
        loaded = await self._store.load(job_id)
        if loaded is None or loaded.record.status is not Status.QUEUED:
            return None
        return f"alone:{job_id}:{loaded.record.epoch}"

    async def _process(self, job_id: str) -> None:
        """Work on the job in a worker process of its own, to the attempt's end. It drains if this
        worker drains."""
        log.warning("job runs alone", job_id=job_id)
        # like this process: a folder `worker` in the working directory must not be imported
        safe = ["-P"] if sys.flags.safe_path else []
        argv = [sys.executable, *safe, "-m", "worker", "--alone", job_id]
        process = await asyncio.create_subprocess_exec(*argv)
        exited = asyncio.create_task(process.wait())
        drained = asyncio.create_task(self._draining.wait())
        await asyncio.wait({exited, drained}, return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()
        if not exited.done():
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
        if code := await exited:
            log.warning("job's own process ended", job_id=job_id, exit_code=code)
