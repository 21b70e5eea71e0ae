"""The sandboxes of attempts: a few runs at once, counted, and one sandbox for each image."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agents.ports.environment import SandboxEnvironment
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
from worker.metrics import WorkerFigures


class Bounded:
    """Implements `sandbox.protocol.Sandbox` over another sandbox; counts its runs in `figures`.

    A worker has hundreds of jobs, because most of them wait for a model. Runs of code need a
    processor and memory: if all ran at once, they would use up each other's wall time. A run that
    waits here has no sandbox, and its clock has not started. A cancelled run counts only as a run
    in progress. Several sandboxes may share the semaphore `free`. A run with a proxy mostly waits
    for the network: it does not wait here and is not counted.
    """

    def __init__(self, sandbox: Sandbox, free: asyncio.Semaphore, figures: WorkerFigures) -> None:
        self._sandbox = sandbox
        self._free = free
        self._figures = figures

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See Sandbox. Waits for its turn."""
        if command.proxy is not None:
            return await self._sandbox.run(command, limits)
        async with self._free:
            started_at = time.monotonic()
            with self._figures.runs_now.track_inprogress():
                try:
                    result = await self._sandbox.run(command, limits)
                except SandboxUnavailable:
                    self._figures.unrun()
                    raise
        self._figures.ran(result, time.monotonic() - started_at)
        return result

    async def check(self) -> tuple[IsolationLayer, ...]:
        """See Sandbox. Does not wait for a turn."""
        return await self._sandbox.check()

    async def close(self) -> None:
        """See Sandbox."""
        await self._sandbox.close()


class ImageRefused(Exception):
    """A job names an image that this worker does not offer. The text has the offered images."""


@dataclass(slots=True)
class Sandboxes:
    """The sandboxes of a process."""

    default: Sandbox
    """The sandbox of jobs that name no image."""
    offered: tuple[str, ...]
    """The images that jobs may name."""
    open_image: Callable[[str], Sandbox]
    """Makes the sandbox of an image, when the first job names it."""
    _of_images: dict[str, Sandbox] = field(default_factory=dict)
    _environments: dict[str | None, SandboxEnvironment] = field(default_factory=dict)

    def of(self, image: str | None) -> Sandbox:
        """The sandbox with this image. Raises ImageRefused."""
        if image is None:
            return self.default
        if image not in self.offered:
            raise ImageRefused(
                f"the job asks for the image {image}, and this worker offers "
                f"{', '.join(self.offered) or 'none'} (FETTLE_SANDBOX_IMAGES)"
            )
        if image not in self._of_images:
            self._of_images[image] = self.open_image(image)
        return self._of_images[image]

    async def environment(self, image: str | None) -> SandboxEnvironment:
        """The environment of code in the sandbox with this image, described once in a process. Its
        digest depends on the image: images may differ only in a library of the system.

        Raises ImageRefused, SandboxUnavailable.
        """
        if image not in self._environments:
            environment = await describe(self.of(image), DEFAULT_LIMITS)
            if not environment.digest:  # the description failed; try again next time
                return environment
            digest = environment.digest if image is None else f"{environment.digest} {image}"
            self._environments[image] = replace(environment, digest=digest)
        return self._environments[image]

    async def close(self) -> None:
        """Destroy every sandbox."""
        await asyncio.gather(
            self.default.close(), *(sandbox.close() for sandbox in self._of_images.values())
        )


def watch_pool(pool: Callable[[], PoolCount], figures: WorkerFigures) -> None:
    """Export the metrics of a backend's pool. `pool` is called from any thread."""
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
