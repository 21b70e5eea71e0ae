"""An engine in use: its facts and our image as they were found, and its events."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from pathlib import Path

from sandbox.docker import garbage_collection, image, profile
from sandbox.docker.containers import container
from sandbox.docker.containers.container import DockerInstance
from sandbox.docker.containers.events import EVENTS, RunEvents
from sandbox.docker.engine import Engine, EngineLost, Events, Facts
from sandbox.docker.garbage_collection import MARK, OWNER, Owner
from sandbox.docker.image import Image
from sandbox.docker.layered.images import LayeredImages
from sandbox.docker.profile import ContainerTemplate
from sandbox.order import Order, order
from sandbox.protocol import Command, Limits, SandboxUnavailable
from sandbox.seccomp import engine_profile

SWEEP_SECONDS = 60.0
CUT_SECONDS = 0.2
"""Before what was cut is connected anew: less than a run waits for word of a kill."""


class DockerSession:
    """Begun by `open_session`; of use until `lost`, which it is when the engine has gone.
    Implements `pool.Session`.
    """

    def __init__(
        self,
        engine: Engine,
        facts: Facts,
        found: Image,
        template: ContainerTemplate,
        owner: Owner,
        events: Events,
        layers: Path | None = None,
    ) -> None:
        self.engine, self.facts, self.image, self.template = engine, facts, found, template
        self.lost = self.closed = False
        self._owner, self._events = owner, events
        self._images = None if layers is None else LayeredImages(engine, found, layers, owner)
        self._held: set[str] = set()
        self._run_events: dict[str, RunEvents] = {}
        self._chores = (asyncio.create_task(self._listen()), asyncio.create_task(self._sweep()))

    def order(self, command: Command, limits: Limits) -> Order:
        """See `pool.Session.order`. RLIMIT_NPROC would count over the whole machine, because the
        container has no user namespace of its own; so it is set only if the cgroup cannot count.
        """
        files = 0 if self._images is None else self._images.files(command.layers)
        bounds = {"memory": "RLIMIT_AS", "pids": "RLIMIT_NPROC"}
        grouped = [rlimit for bound, rlimit in bounds.items() if bound in self.facts.bounds]
        return order(command, limits, image.PYTHON, grouped=grouped, base_files=files)

    async def make(
        self, limits: Limits, *, load: bool, layers: tuple[str, ...] = (), proxy: bool = False
    ) -> DockerInstance:
        """See `pool.Session.make`."""
        mark = uuid.uuid4().hex
        self._held.add(mark)
        try:
            return await self._make(limits, mark, load=load, layers=layers, proxy=proxy)
        except BaseException:
            self._held.discard(mark)
            raise

    def notice(self, error: SandboxUnavailable) -> None:
        """See `pool.Session.notice`."""
        if isinstance(error, EngineLost) and not self.closed:
            self.lost = True  # one that is being closed has containers to remove yet

    async def prepare(self, command: Command) -> None:
        """See `pool.Session.prepare`: there is nothing to wait for."""

    async def warm(self) -> None:
        """See `pool.Session.warm`: a container that stands ready has the libraries loaded."""

    async def stop(self) -> None:
        """See `pool.Session.stop`. With an engine that is gone, or hangs, what is under way is cut:
        there is nothing to wait for but its ping.
        """
        self.closed = True
        self.lost = self.lost or not await self.engine.answers()
        if self.lost:
            self.engine.drop()
        for each in self._chores:
            each.cancel()
        await asyncio.gather(*self._chores, return_exceptions=True)

    async def close(self) -> None:
        """See `pool.Session.close`."""
        if not self.lost:  # only strays are left now, and what has been ended just before
            self._held.clear()
            with contextlib.suppress(SandboxUnavailable):
                await self._remove_left(f"{OWNER}={self._owner.id}")
        self._events.lines.close()

    def begin(self, id_: str, run_events: RunEvents) -> None:
        """From now on what the engine reports of a container goes to this fate."""
        self._run_events[id_] = run_events

    async def remove(self, id_: str, mark: str) -> None:
        """Remove a container."""
        self._run_events.pop(id_, None)
        try:
            if not self.lost:
                await self.engine.remove(id_)
        finally:
            self._held.discard(mark)  # gone, or a stray: the engine refused to remove it

    async def _make(
        self, limits: Limits, mark: str, *, load: bool, layers: tuple[str, ...], proxy: bool
    ) -> DockerInstance:
        container_limits = profile.container_limits(limits)
        try:
            layered = None
            if layers and self._images is not None:
                layered = await self._images.image(layers, self._held)
            return await container.make(
                self, container_limits, mark, load=load, layered=layered, proxy=proxy
            )
        except EngineLost:
            raise
        except SandboxUnavailable as error:
            if not await self.engine.answers():
                raise EngineLost("the engine was lost while a container was made") from error
            raise

    async def _listen(self) -> None:
        """Note how containers fare, until the engine has gone. A connection that is cut on its way,
        as by a proxy that takes it for idle, is made anew: no run is the worse for it.
        """
        began = self._events.began
        while True:
            async for event in self._events.lines:
                run_events = self._run_events.get(event.get("Actor", {}).get("ID", ""))
                if run_events is not None:
                    run_events.note(event)
            self._events.lines.close()
            await asyncio.sleep(CUT_SECONDS)
            try:
                if await self.engine.facts() != self.facts:
                    break
                self._events = await follow(self.engine, self._owner, began)
            except SandboxUnavailable:
                break
        self.lost = True

    async def _sweep(self) -> None:
        """Remove what dead workers left, and strays, now and from time to time."""
        while True:
            with contextlib.suppress(SandboxUnavailable):  # the next run will report it
                await self._remove_left(OWNER)
                if self._images is not None:
                    await self._images.remove_left()
            await asyncio.sleep(SWEEP_SECONDS)

    async def _remove_left(self, label: str) -> None:
        """Remove, of what has the label, what dead workers left, and what is this owner's and
        held by nobody: its making was not answered in time, or an engine under load did not manage
        to remove it. One that the engine refuses to remove does not save the others.
        """
        for seen in await self.engine.containers(label):
            is_own = seen.labels.get(OWNER) == self._owner.id
            stray = is_own and seen.labels.get(MARK) not in self._held
            if stray or garbage_collection.is_left(
                seen.labels, seen.age, self._owner, garbage_collection.is_alive
            ):
                try:
                    await self.engine.remove(seen.id)
                except EngineLost:
                    raise
                except SandboxUnavailable:
                    continue


async def open_session(
    engine: Engine,
    owner: Owner,
    name: str,
    runtime: str | None,
    cpus: float,
    layers: Path | None = None,
) -> DockerSession:
    """Find the engine, what it can do and our image. Raises SandboxUnavailable.

    An owner has one at a time: what is left of one that was lost is swept by his next.
    """
    await engine.open()
    facts = await engine.facts()
    _require(facts, runtime)
    found = image.require(name, await engine.image(name))
    template = ContainerTemplate(
        # By its id: whatever takes the name later was not looked at.
        image=found.id,
        runtime=runtime,
        cpus=cpus,
        filter=engine_profile.text(),
        environment=image.environment(),
        labels=owner.labels,
    )
    events = await follow(engine, owner)
    return DockerSession(engine, facts, found, template, owner, events, layers)


async def follow(engine: Engine, owner: Owner, since: int | None = None) -> Events:
    """The events of this owner's containers. Earlier events may come twice."""
    return await engine.events(f"{OWNER}={owner.id}", EVENTS, since)


def _require(facts: Facts, runtime: str | None) -> None:
    """Raises SandboxUnavailable where the engine cannot hold a sandbox as it must be held."""
    if runtime is not None and runtime not in facts.runtimes:
        raise SandboxUnavailable(
            f"the engine has no runtime {runtime!r}, only {', '.join(facts.runtimes)}. Name it in "
            "the engine's daemon.json and restart the engine"
        )
    if "seccomp" not in facts.security:
        raise SandboxUnavailable("the engine was built, or started, without system call filters")
