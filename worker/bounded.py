"""Bounded: a sandbox that lets so many runs go on at once, however many jobs want one."""

from __future__ import annotations

import asyncio

from sandbox.protocol import Command, Layer, Limits, RunResult, Sandbox


class Bounded:
    """Implements `sandbox.protocol.Sandbox` over another one.

    A worker holds hundreds of jobs, since most of them wait for a model. Those that run code want a
    processor and memory: all at once they would be no sooner done, and a run's wall time would be
    spent on its neighbours. Who waits here has no room yet, and his run's clock stands still.
    """

    def __init__(self, sandbox: Sandbox, free: asyncio.Semaphore) -> None:
        self._sandbox = sandbox
        self._free = free

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See Sandbox; waits for its turn first."""
        async with self._free:
            return await self._sandbox.run(command, limits)

    async def check(self) -> tuple[Layer, ...]:
        """See Sandbox; waits for nobody."""
        return await self._sandbox.check()

    async def close(self) -> None:
        """See Sandbox."""
        await self._sandbox.close()
