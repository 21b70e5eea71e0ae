"""A sandbox whose runs are counted, and its pool's figures."""

from __future__ import annotations

import time
from typing import Protocol

from sandbox.protocol import (
    Command,
    Layer,
    Limits,
    PoolCount,
    RunResult,
    Sandbox,
    SandboxUnavailable,
)
from worker.metrics.figures import Figures


class Pooled(Protocol):
    """A backend that keeps sandboxes ready."""

    @property
    def pool(self) -> PoolCount:
        """Asked from any thread."""
        ...


def watch_pool(backend: Pooled, figures: Figures) -> None:
    """Show what stands ready of a backend's sandboxes."""
    figures.watch(
        "fettle_sandboxes_ready",
        "Sandboxes that stand ready for a run",
        lambda: backend.pool.ready,
    )
    figures.watch(
        "fettle_sandboxes_making",
        "Sandboxes that are being made, to stand ready or for a run that waits",
        lambda: backend.pool.making,
    )
    figures.watch(
        "fettle_sandboxes_wanted",
        "Sandboxes that are to stand ready",
        lambda: backend.pool.wanted,
    )


class CountingSandbox:
    """Implements `sandbox.protocol.Sandbox` over another one. A run that is cancelled counts as
    under way while it lasts, and nowhere else: nothing came of it.
    """

    def __init__(self, sandbox: Sandbox, figures: Figures) -> None:
        self._sandbox = sandbox
        self._figures = figures

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See Sandbox."""
        began = time.monotonic()
        with self._figures.runs_now.track_inprogress():
            try:
                result = await self._sandbox.run(command, limits)
            except SandboxUnavailable:
                self._figures.unrun()
                raise
        self._figures.ran(result, time.monotonic() - began)
        return result

    async def check(self) -> tuple[Layer, ...]:
        """See Sandbox."""
        return await self._sandbox.check()

    async def close(self) -> None:
        """See Sandbox."""
        await self._sandbox.close()
