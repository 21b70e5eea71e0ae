"""The heartbeat: one thread renews every lease of the process, and announces the worker.

The thread has a connection and a loop of its own, so that a busy event loop does not lose leases.
An event loop that hangs must lose its leases: its jobs make no progress and miss their deadlines.

See ADR 23.
"""

from __future__ import annotations

import asyncio
import faulthandler
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from jobs.errors import StoreUnavailable
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore, connect
from worker.failures import abort_process

log = structlog.get_logger("worker.background.heartbeat")

AGAIN_SECONDS = 1.0
"""The delay after a missed heartbeat: the sweeper and the worker then compete for the job."""
MISSED_ANNOUNCEMENTS = 3
"""A worker is forgotten after this many missed heartbeats."""


class Leases:
    """The heartbeat of a process. It announces `facts()`. If the `pulse` finds that the loop with
    the jobs hangs, the process ends (see abort_process). It calls `drain()` once when a drain is
    requested, and `accepted()` after each heartbeat that Redis has accepted.
    """

    def __init__(
        self,
        worker_id: str,
        redis_url: str,
        *,
        lease_seconds: float,
        heartbeat_seconds: float,
        leases: Callable[[], Sequence[LeaseRef]],
        lost: Callable[[LeaseRef], None],
        facts: Callable[[], Mapping[str, Any]],
        pulse: LoopWatchdog,
        drain: Callable[[], None],
        accepted: Callable[[], None] = lambda: None,
    ) -> None:
        self._worker_id = worker_id
        self._redis_url = redis_url
        self._lease_ms = int(lease_seconds * 1000)
        self._interval_seconds = heartbeat_seconds
        self._current_leases = leases
        self._lost = lost
        self._facts = facts
        self._pulse = pulse
        self._drain = drain
        self._accepted = accepted
        self._is_drain_requested = False
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def use(self, lease_seconds: float, heartbeat_seconds: float) -> None:
        """Change the length of a renewed lease and the time between two renewals."""
        self._lease_ms, self._interval_seconds = int(lease_seconds * 1000), heartbeat_seconds

    def stop(self) -> None:
        """Stop the thread, and withdraw the announcement."""
        self._stopping.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            asyncio.run(self._beat())
        except BaseException as error:  # noqa: BLE001 - without a heartbeat every job here is lost
            abort_process(error)

    async def _beat(self) -> None:
        store = RedisStore(connect(self._redis_url))
        try:
            wait = 0.0
            while not self._stopping.is_set():
                if not self._pulse.beats(wait):
                    faulthandler.dump_traceback(sys.stderr)  # the traceback shows the cause
                    abort_process(TimeoutError("the worker's event loop does not answer"))
                wait = self._interval_seconds
                try:
                    await self._beat_once(store)
                except StoreUnavailable as error:
                    log.warning("heartbeat missed", error=str(error))
                    wait = min(wait, AGAIN_SECONDS)
                except Exception as error:
                    log.error("heartbeat failed", exc_info=error)
                await asyncio.to_thread(self._stopping.wait, wait)
            await store.withdraw(self._worker_id)
        except StoreUnavailable as error:
            log.warning("no goodbye", error=str(error))
        finally:
            await store.close()

    async def _beat_once(self, store: RedisStore) -> None:
        if leases := self._current_leases():
            for lease in await store.renew(leases, self._lease_ms):
                self._lost(lease)
        facts = {**self._facts(), "busy": len(leases)}
        forget = int(self._interval_seconds * MISSED_ANNOUNCEMENTS) + 1
        if await store.announce(self._worker_id, facts, forget) and not self._is_drain_requested:
            self._is_drain_requested = True
            log.info("asked to drain")
            self._drain()
        self._accepted()


Ask = Callable[[Callable[[], None]], object]
"""Makes a loop call a function, from any thread: asyncio's `call_soon_threadsafe`."""


class LoopWatchdog:
    """Checks at every heartbeat that a loop answers. It measures silence in waiting times of the
    heartbeat, because a loop does not hang if the whole process or machine was frozen.
    """

    def __init__(self, ask: Ask, most_seconds: float) -> None:
        self._ask = ask
        self._most = most_seconds
        self._answered = True
        self._silent = 0.0

    def beats(self, waited: float) -> bool:
        """Whether the loop answers in time. `waited`: seconds since the last heartbeat."""
        if self._answered:
            self._answered, self._silent = False, 0.0
            self._ask(self._answer)
        else:
            self._silent += waited
        return self._silent <= self._most

    def _answer(self) -> None:
        self._answered = True
