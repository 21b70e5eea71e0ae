"""Readiness: whether this worker's sandbox works, and so whether it takes jobs.

A sandbox that is broken is trouble of ours: no job fails for it, and none uses up a try. The worker
says what is wrong, takes no job, and looks again, less often each time, until a run works.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

import structlog

from sandbox.protocol import Layer, Sandbox, SandboxUnavailable

AGAIN_SECONDS = 1.0
MOST_AGAIN_SECONDS = 30.0
CHECK_SECONDS = 120.0
"""A check may start an engine's first containers; one that takes longer hangs."""

log = structlog.get_logger("worker.readiness")


class Readiness:
    """One a worker. All methods but `facts` belong to the loop's thread."""

    def __init__(
        self, sandbox: Sandbox, name: str, *, again_seconds: float = AGAIN_SECONDS
    ) -> None:
        self._sandbox = sandbox
        self._name = name
        self._again_seconds = again_seconds
        self._works = asyncio.Event()
        self._broken = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._facts = self._told(works=False, why="not tried yet")

    def facts(self) -> Mapping[str, Any]:
        """{backend, works, why, layers}, as last seen; safe to call from any thread."""
        return self._facts

    @property
    def works(self) -> bool:
        """Whether the last look found a sandbox that works."""
        return self._works.is_set()

    async def wait(self) -> None:
        """Return when the sandbox works."""
        await self._works.wait()

    async def look(self) -> bool:
        """Try a run now, and tell whether it worked. Who asks meanwhile shares the answer."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._looked)
        await asyncio.shield(self._looking)
        return self.works

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Look again and again, as long as it is broken, for the length of the block."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            await self._broken.wait()
            pause = self._again_seconds
            while not self.works:
                await asyncio.sleep(pause)
                pause = min(pause * 2, MOST_AGAIN_SECONDS)
                await self.look()

    async def _look(self) -> None:
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                layers = await self._sandbox.check()
        except SandboxUnavailable as error:
            self._fails(str(error))
        except TimeoutError:
            self._fails(f"it gave no answer within {CHECK_SECONDS:g} s")
        except Exception as error:
            log.error("the sandbox could not be tried", exc_info=error)
            self._fails(f"{type(error).__name__}: {error}")
        else:
            self._serves(layers)

    def _looked(self, _: asyncio.Task[None]) -> None:
        self._looking = None

    def _serves(self, layers: tuple[Layer, ...]) -> None:
        shown = [{"name": x.name, "active": x.active, "detail": x.detail} for x in layers]
        self._facts = self._told(works=True, layers=shown)
        if self._broken.is_set():
            log.info("the sandbox works again: jobs are taken")
        self._broken.clear()
        self._works.set()

    def _fails(self, why: str) -> None:
        if why != self._facts["why"]:
            log.error("sandbox cannot work: no job is taken until it does", why=why)
        self._facts = self._told(works=False, why=why)
        self._works.clear()
        self._broken.set()

    def _told(self, *, works: bool, why: str = "", layers: Any = ()) -> Mapping[str, Any]:
        return {"backend": self._name, "works": works, "why": why, "layers": list(layers)}
