"""Sandboxes as attempts use them: only while they work, few runs at once, counted, and by image."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import structlog

from agents.errors import ModelError
from agents.ports.environment import Environment
from agents.runs.environment import describe
from jobs.errors import BlobsUnavailable
from sandbox.protocol import (
    DEFAULT_LIMITS,
    Command,
    Layer,
    Limits,
    PoolCount,
    RunResult,
    Sandbox,
    SandboxUnavailable,
)
from worker.metrics.figures import Figures

AGAIN_SECONDS = 1.0
MOST_AGAIN_SECONDS = 30.0
CHECK_SECONDS = 120.0
"""A check may start an engine's first containers; one that takes longer hangs."""

log = structlog.get_logger("worker.adapters.sandbox")


class Checked(Protocol):
    """A part of a worker that can be tried."""

    async def check(self) -> tuple[Layer, ...]:
        """Try it. Raises SandboxUnavailable, BlobsUnavailable or ModelError if it does not work."""
        ...


class Readiness:
    """Whether a part of this worker works: its sandbox, its storage or its default model (`part`).
    All methods but `facts` belong to the loop's thread.

    A part that works is tried again every `idle_seconds`, if that is not None.
    """

    def __init__(
        self,
        checked: Checked,
        name: str,
        *,
        part: str = "sandbox",
        again_seconds: float = AGAIN_SECONDS,
        idle_seconds: float | None = None,
    ) -> None:
        self._checked = checked
        self._name = name
        self._part = part
        self._again_seconds = again_seconds
        self._idle_seconds = idle_seconds
        self._looked_at = -math.inf
        self._works = asyncio.Event()
        self._broken = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._facts = self._told(works=False, why="not tried yet")

    def facts(self) -> Mapping[str, Any]:
        """{backend, works, why, layers}, as last seen; safe to call from any thread."""
        return self._facts

    @property
    def works(self) -> bool:
        """Whether it worked when it was tried last."""
        return self._works.is_set()

    async def wait(self) -> None:
        """Return when it works."""
        await self._works.wait()

    async def look(self) -> bool:
        """Try it now; returns whether it works. Callers during a try share its result."""
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
            self._looking.add_done_callback(self._looked)
        await asyncio.shield(self._looking)
        return self.works

    async def look_if_older(self, seconds: float) -> None:
        """Try it if the last try began more than `seconds` ago."""
        if time.monotonic() - self._looked_at > seconds:
            await self.look()

    @contextlib.asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """Try again at intervals, while it is broken, for the length of the block."""
        watching = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._idle_seconds):
                    await self._broken.wait()
            if self.works:
                await self.look()
            pause = self._again_seconds
            while not self.works:
                await asyncio.sleep(pause)
                pause = min(pause * 2, MOST_AGAIN_SECONDS)
                await self.look()

    async def _look(self) -> None:
        self._looked_at = time.monotonic()
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                layers = await self._checked.check()
        except (SandboxUnavailable, BlobsUnavailable, ModelError) as error:
            self._fails(str(error))
        except TimeoutError:
            self._fails(f"it gave no answer within {CHECK_SECONDS:g} s")
        except Exception as error:
            log.error(f"the {self._part} could not be tried", exc_info=error)
            self._fails(f"{type(error).__name__}: {error}")
        else:
            self._serves(layers)

    def _looked(self, _: asyncio.Task[None]) -> None:
        self._looking = None

    def _serves(self, layers: tuple[Layer, ...]) -> None:
        shown = [{"name": x.name, "active": x.active, "detail": x.detail} for x in layers]
        self._facts = self._told(works=True, layers=shown)
        if self._broken.is_set():
            log.info(f"the {self._part} works again: jobs are taken")
        self._broken.clear()
        self._works.set()

    def _fails(self, why: str) -> None:
        if why != self._facts["why"]:
            log.error(f"{self._part} cannot work: no job is taken until it does", why=why)
        self._facts = self._told(works=False, why=why)
        self._works.clear()
        self._broken.set()

    def _told(self, *, works: bool, why: str = "", layers: Any = ()) -> Mapping[str, Any]:
        return {"backend": self._name, "works": works, "why": why, "layers": list(layers)}


class Bounded:
    """Implements `sandbox.protocol.Sandbox` over another one; its runs are counted in `figures`.

    A worker holds hundreds of jobs, since most of them wait for a model. Runs of code need a
    processor and memory: all at once they would end no sooner, and would use up each other's wall
    time. A run that waits here has no sandbox yet, and its clock has not started. A run that is
    cancelled counts as under way while it lasts, and nowhere else. Sandboxes may share what is
    `free`. A run with a proxy, which mostly waits for a network, has no turn here, and is not
    counted.
    """

    def __init__(self, sandbox: Sandbox, free: asyncio.Semaphore, figures: Figures) -> None:
        self._sandbox = sandbox
        self._free = free
        self._figures = figures

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See Sandbox; waits for its turn first."""
        if command.proxy is not None:
            return await self._sandbox.run(command, limits)
        async with self._free:
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
        """See Sandbox; waits for nobody."""
        return await self._sandbox.check()

    async def close(self) -> None:
        """See Sandbox."""
        await self._sandbox.close()


class ImageRefused(Exception):
    """A job asks for an image that this worker does not offer. Its text says which there are."""


@dataclass(slots=True)
class Sandboxes:
    """`own` is for jobs that name no image. `opened` makes the sandbox of an image of the list
    `offered`, when a job first asks for it; it is kept from then on."""

    own: Sandbox
    offered: tuple[str, ...]
    opened: Callable[[str], Sandbox]
    _of_images: dict[str, Sandbox] = field(default_factory=dict)
    _environments: dict[str | None, Environment] = field(default_factory=dict)

    def of(self, image: str | None) -> Sandbox:
        """The sandbox with this image. Raises ImageRefused."""
        if image is None:
            return self.own
        if image not in self.offered:
            raise ImageRefused(
                f"the job asks for the image {image}, and this worker offers "
                f"{', '.join(self.offered) or 'none'} (FETTLE_SANDBOX_IMAGES)"
            )
        if image not in self._of_images:
            self._of_images[image] = self.opened(image)
        return self._of_images[image]

    async def environment(self, image: str | None) -> Environment:
        """What the code finds in it, asked for once a process, and not by a job's own limits. Its
        digest tells images apart, which may differ in no more than a library of the system's.

        Raises ImageRefused, and what the sandbox raises.
        """
        if image not in self._environments:
            found = await describe(self.of(image), DEFAULT_LIMITS)
            if not found.digest:  # it has said nothing, and may do so next time
                return found
            named = found.digest if image is None else f"{found.digest} {image}"
            self._environments[image] = replace(found, digest=named)
        return self._environments[image]

    async def close(self) -> None:
        """Destroy every sandbox."""
        await asyncio.gather(self.own.close(), *(each.close() for each in self._of_images.values()))


def watch_pool(pool: Callable[[], PoolCount], figures: Figures) -> None:
    """Show what stands ready of a backend's sandboxes. `pool` is called from any thread."""
    figures.watch(
        "fettle_sandboxes_ready", "Sandboxes that stand ready for a run", lambda: pool().ready
    )
    figures.watch(
        "fettle_sandboxes_making",
        "Sandboxes that are being made, to stand ready or for a run that waits",
        lambda: pool().making,
    )
    figures.watch(
        "fettle_sandboxes_wanted", "Sandboxes that are to stand ready", lambda: pool().wanted
    )
