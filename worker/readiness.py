"""Whether this worker can do jobs: its sandbox and its storage both have to work.

Why: docs/decisions/0071-a-storage-that-fails.md
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.blobs.directory import Blobs
from sandbox.protocol import Layer
from worker.adapters.sandbox import Readiness

FRESH_SECONDS = 5.0
"""A probe of `/readyz` tries the storage again if the last try is older."""
IDLE_SECONDS = 60.0
"""How often a storage that works is tried, so that a worker without jobs notices an outage."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Implements `worker.adapters.sandbox.Checked` over the artifact store."""

    blobs: Blobs

    async def check(self) -> tuple[Layer, ...]:
        """Raises BlobsUnavailable where it fails."""
        await self.blobs.probe()
        return ()


def storage_readiness(blobs: Blobs, name: str) -> Readiness:
    """Whether the artifact store works; it was not tried yet. `name`: its kind."""
    return Readiness(Storage(blobs), name, part="storage", idle_seconds=IDLE_SECONDS)


@dataclass(frozen=True, slots=True)
class WorkerReadiness:
    """The parts of a worker without which it takes no job."""

    sandbox: Readiness
    storage: Readiness

    @property
    def works(self) -> bool:
        """Whether all parts worked when they were tried last."""
        return self.sandbox.works and self.storage.works

    async def wait(self) -> None:
        """Return when all parts work."""
        while not self.works:
            await self.sandbox.wait()
            await self.storage.wait()

    async def look(self) -> bool:
        """Try all parts; whether they work."""
        await self.sandbox.look()
        await self.storage.look()
        return self.works

    def facts(self) -> Mapping[str, Any]:
        """{sandbox, storage}: the facts of each part; safe to call from any thread."""
        return {"sandbox": self.sandbox.facts(), "storage": self.storage.facts()}

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Try broken parts again at intervals, for the length of the block."""
        async with self.sandbox.watched(), self.storage.watched():
            yield
