"""Sandboxes as attempts use them: only while they work, few runs at once, counted, and by image."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agents.ports.environment import Environment
from agents.runs.helper import describe
from sandbox.protocol import (
    DEFAULT_LIMITS,
    Command,
    IsolationLayer,
    Limits,
    PoolCount,
    RunResult,
    Sandbox,
    SandboxUnavailable,
)
from worker.metrics import Figures


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

    async def check(self) -> tuple[IsolationLayer, ...]:
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
        "fettle_sandboxes_wanted", "Sandboxes that are to stand ready", lambda: pool().target
    )
