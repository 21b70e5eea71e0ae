"""A sandbox whose runs are counted."""

from __future__ import annotations

import time

from sandbox.protocol import Command, Layer, Limits, RunResult, Sandbox, SandboxUnavailable
from worker.metrics.figures import Figures


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
