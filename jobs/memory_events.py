"""The events of jobs in one process, who waits for them, and the word of jobs that shall stop."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence

from jobs.codec import event_body, read_event
from jobs.events import Event, NewEvent
from jobs.inheritance import of_work


class MemoryEvents:
    """Gapless per job; a known key is not appended again (J12)."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._keys: dict[str, set[str]] = defaultdict(set)
        self._readers: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._stops: set[asyncio.Queue[str]] = set()

    def append(self, job_id: str, events: Sequence[NewEvent], epoch: int | None = None) -> None:
        """Add those that are new; `epoch`: of the attempt that tells them."""
        now = self._clock()
        for event in events:
            if event.key not in self._keys[job_id]:
                self._keys[job_id].add(event.key)
                seq = len(self._events[job_id]) + 1
                body = event_body(event, epoch)
                self._events[job_id].append(read_event(seq, f"{now} {body}".encode()))
        for reader in self._readers[job_id]:
            reader.set()

    def after(self, job_id: str, seq: int) -> Sequence[Event]:
        """Those whose number is above `seq`."""
        return self._events[job_id][max(seq, 0) :]

    async def wait(self, job_id: str, seq: int, seconds: float) -> Sequence[Event]:
        """Like `after`, waiting for the first of them."""
        appended = asyncio.Event()
        self._readers[job_id].add(appended)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    while not self.after(job_id, seq):
                        appended.clear()
                        await appended.wait()
        finally:
            self._readers[job_id].discard(appended)
        return self.after(job_id, seq)

    def stop(self, job_id: str) -> None:
        """Tell who listens that a job is cancelled."""
        for queue in self._stops:
            queue.put_nowait(job_id)

    @contextlib.asynccontextmanager
    async def stops(self) -> AsyncIterator[asyncio.Queue[str]]:
        """Ids of jobs whose attempt shall stop now."""
        queue: asyncio.Queue[str] = asyncio.Queue()
        self._stops.add(queue)
        try:
            yield queue
        finally:
            self._stops.discard(queue)

    def inherit(self, job_id: str, parent_id: str) -> None:
        """Take what another job's graph has said for said."""
        self._keys[job_id].update(of_work(self._keys[parent_id]))

    def forget(self, job_id: str) -> None:
        """Remove a job's events."""
        self._events.pop(job_id, None)
        self._keys.pop(job_id, None)
