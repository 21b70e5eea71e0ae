"""Health: whether this worker is alive and takes jobs. Safe from any thread."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from worker.metrics.figures import Figures

LOOK_SECONDS = 0.5

Clock = Callable[[], float]


class Health:
    """`draining()` is the engine's. `sandbox()` and `model()` are `Readiness.facts`; so is
    `storage()`, after a try that is a few seconds old at most. None: the worker has none yet."""

    def __init__(
        self,
        *,
        stuck_seconds: float,
        seen_seconds: float,
        draining: Callable[[], bool],
        clock: Clock = time.monotonic,
    ) -> None:
        self._stuck_seconds = stuck_seconds
        self._seen_seconds = seen_seconds
        self._draining = draining
        self._clock = clock
        self._looped = clock()
        self._beat: float | None = None
        self.sandbox: Callable[[], Mapping[str, Any]] | None = None
        self.storage: Callable[[], Mapping[str, Any]] | None = None
        self.model: Callable[[], Mapping[str, Any]] | None = None

    def beaten(self) -> None:
        """A heartbeat was answered by Redis."""
        self._beat = self._clock()

    def looped(self) -> None:
        """The event loop has run."""
        self._looped = self._clock()

    @property
    def beat_age(self) -> float:
        """Seconds since Redis has answered a heartbeat; infinite before the first answer."""
        return float("inf") if self._beat is None else self._clock() - self._beat

    def sandbox_works(self) -> bool:
        """As last seen."""
        return self.sandbox is not None and bool(self.sandbox()["works"])

    def storage_works(self) -> bool:
        """After a fresh try."""
        return self.storage is not None and bool(self.storage()["works"])

    def not_alive(self) -> str:
        """Why this process should be started again; empty where it should not."""
        silent = self._clock() - self._looped
        if silent > self._stuck_seconds:
            return f"the event loop has not answered for {silent:.0f} s"
        return ""

    def not_ready(self) -> str:
        """Why it takes no jobs; empty where it does."""
        if why := self.not_alive():
            return why
        if self._draining():
            return "the worker is stopping"
        if self.sandbox is None or self._beat is None:
            return "the worker is starting"
        if self.beat_age > self._seen_seconds:
            return f"Redis has not answered a heartbeat for {self.beat_age:.0f} s"
        parts = {"sandbox": self.sandbox, "storage": self.storage, "default model": self.model}
        for name, facts_of in parts.items():
            if facts_of is not None and not (facts := facts_of())["works"]:
                return f"the {name} cannot work: {facts['why']}"
        return ""

    @contextlib.asynccontextmanager
    async def watched(self, figures: Figures) -> AsyncIterator[None]:
        """Measure how late the loop is, for the length of the block, and export the metrics."""
        figures.watch(
            "fettle_worker_heartbeat_age_seconds",
            "Since Redis has taken a heartbeat",
            lambda: self.beat_age,
        )
        figures.watch("fettle_worker_sandbox_up", "Whether its sandbox works", self.sandbox_works)
        figures.watch("fettle_worker_storage_up", "Whether its storage works", self.storage_works)
        watching = asyncio.create_task(self._watch(figures))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, figures: Figures) -> None:
        while True:
            due = time.monotonic() + LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
            figures.loop_lag.observe(max(time.monotonic() - due, 0.0))
            self.looped()
