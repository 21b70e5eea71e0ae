"""An engine in use: its facts and our image as they were found, its pool, and what it tells."""

from __future__ import annotations

import asyncio
import contextlib
import uuid

from sandbox.docker import container, image, leftovers, profile, seccomp
from sandbox.docker.container import Container, to_its_end
from sandbox.docker.engine import Engine, EngineLost, Events, Facts
from sandbox.docker.fate import EVENTS, Fate
from sandbox.docker.image import Image
from sandbox.docker.leftovers import MARK, OWNER, Owner
from sandbox.docker.pool import Pool
from sandbox.docker.profile import Kind, Shape
from sandbox.protocol import Limits, PoolCount, SandboxUnavailable

SWEEP_SECONDS = 60.0
CUT_SECONDS = 0.2
"""Before what was cut is connected anew: less than a run waits for word of a kill."""


class Station:
    """Begun by `open_station`; of use until `lost`, which it is when the engine has gone."""

    def __init__(
        self, engine: Engine, facts: Facts, found: Image, kind: Kind, owner: Owner, events: Events
    ) -> None:
        self.engine, self.facts, self.image, self.kind = engine, facts, found, kind
        self.lost = self.closed = False
        self._owner, self._events = owner, events
        self._held: set[str] = set()
        self._makings: set[asyncio.Task[Container]] = set()
        self._fates: dict[str, Fate] = {}
        self._taken: dict[str, Container] = {}
        self._endings: dict[str, asyncio.Task[None]] = {}
        self.pool = Pool(profile.shape(Limits()), self._make, self._end)
        self._chores = (asyncio.create_task(self._listen()), asyncio.create_task(self._sweep()))

    @property
    def counts_processes(self) -> bool:
        """Whether the engine bounds a container's processes by its cgroup."""
        return "pids" in self.facts.bounds

    @property
    def count(self) -> PoolCount:
        """Its containers that no run has."""
        return PoolCount(self.pool.standing, len(self._makings), self.pool.wanted)

    async def take(self, shape: Shape) -> Container:
        """A container for one run in this shape. Raises SandboxUnavailable."""
        taken = await self.pool.take(shape)
        self._fates[taken.id], self._taken[taken.id] = Fate(), taken
        try:
            await self._fit(taken, shape)
        except BaseException:
            await to_its_end(self.give_back(taken))
            raise
        return taken

    async def _fit(self, taken: Container, shape: Shape) -> None:
        if self.closed:  # at the moment when it was made
            raise _left()
        if taken.shape != shape:
            await self.engine.update(taken.id, profile.update(shape))

    def give_back(self, taken: Container) -> asyncio.Task[None]:
        """Its run is over: it is ended in the background, or waited for by who awaits this.

        A second time it is the same end: the one who closes this may have been first.
        """
        if self._taken.pop(taken.id, None) is not None:
            self._fates.pop(taken.id)
            ending = self._endings[taken.id] = self.pool.give_back(taken)
            ending.add_done_callback(lambda _: self._endings.pop(taken.id, None))
            return ending
        return self._endings.get(taken.id) or asyncio.create_task(asyncio.sleep(0))

    def fate(self, taken: Container) -> Fate:
        """What the engine tells of a container that was taken; nothing any more of one that was
        given back, by who closes this.
        """
        return self._fates.get(taken.id) or Fate()

    async def close(self) -> None:
        """End every container, those with a run in them and those that are being made too. With an
        engine that is gone, or hangs, what is under way is cut: there is nothing to wait for but
        its ping. Raises nothing of the engine's.

        From its first step on no other is made, and whatever a run meets here is of this doing.
        """
        self.closed = True
        self.lost = self.lost or not await self.engine.answers()
        if self.lost:
            self.engine.drop()
        for taken in tuple(self._taken.values()):
            self.give_back(taken)
        ending = (*self._chores, *self._makings)
        for each in ending:
            each.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        await self.pool.close()
        if not self.lost:  # only strays are left now, and what has been ended just before
            self._held.clear()
            with contextlib.suppress(SandboxUnavailable):
                await self._remove_left(f"{OWNER}={self._owner.id}")
        self._events.lines.close()

    async def _make(self, shape: Shape, load: bool) -> Container:
        """One that is made in a task of its own: it ends whole or undone, whether it is this that
        is closed meanwhile, or who asked for it that is cancelled.
        """
        if self.closed:
            raise _left()
        making = asyncio.create_task(self._made(shape, load))
        self._makings.add(making)
        making.add_done_callback(self._makings.discard)
        try:
            await asyncio.wait({making})
        except asyncio.CancelledError:
            await to_its_end(asyncio.create_task(self._unmake(making)))
            raise
        if making.cancelled():
            raise _left()
        return making.result()

    async def _made(self, shape: Shape, load: bool) -> Container:
        mark = uuid.uuid4().hex
        self._held.add(mark)
        try:
            return await container.make(self.engine, self.kind, shape, mark, load=load)
        except BaseException as error:
            self._held.discard(mark)
            refused = isinstance(error, SandboxUnavailable) and not isinstance(error, EngineLost)
            if refused and not await self.engine.answers():
                raise EngineLost("the engine was lost while a container was made") from error
            raise

    async def _unmake(self, making: asyncio.Task[Container]) -> None:
        making.cancel()
        await asyncio.wait({making})
        if not making.cancelled() and making.exception() is None:  # it was made just then
            with contextlib.suppress(SandboxUnavailable):
                await self._end(making.result())

    async def _end(self, ended: Container) -> None:
        try:
            if not self.lost:
                await self.engine.remove(ended.id)
        finally:
            ended.connection.close()
            self._held.discard(ended.mark)  # gone, or a stray: the engine refused to remove it

    async def _listen(self) -> None:
        """Note how containers fare, until the engine has gone. A connection that is cut on its way,
        as by a proxy that takes it for idle, is made anew: no run is the worse for it.
        """
        began = self._events.began
        while True:
            async for event in self._events.lines:
                fate = self._fates.get(event.get("Actor", {}).get("ID", ""))
                if fate is not None:
                    fate.hear(event)
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
        """Remove what dead workers have left behind, and strays, now and from time to time."""
        while True:
            with contextlib.suppress(SandboxUnavailable):  # who runs something next will tell
                await self._remove_left(OWNER)
            await asyncio.sleep(SWEEP_SECONDS)

    async def _remove_left(self, label: str) -> None:
        """Remove, of what bears the label, what dead workers have left behind, and what is ours and
        held by nobody: its making was not answered in time, or an engine under load did not manage
        to remove it. One that the engine refuses to remove does not save the others.
        """
        for seen in await self.engine.containers(label):
            ours = seen.labels.get(OWNER) == self._owner.id
            stray = ours and seen.labels.get(MARK) not in self._held
            if stray or leftovers.is_left(seen.labels, seen.age, self._owner, leftovers.is_alive):
                try:
                    await self.engine.remove(seen.id)
                except EngineLost:
                    raise
                except SandboxUnavailable:
                    continue


def _left() -> EngineLost:
    return EngineLost("the engine was left before a run began")


async def open_station(
    engine: Engine, owner: Owner, name: str, runtime: str | None, cpus: float
) -> Station:
    """Find the engine, what it can do and our image. Raises SandboxUnavailable.

    An owner has one at a time: what is left of one that was lost is swept by his next.
    """
    await engine.open()
    facts = await engine.facts()
    _require(facts, runtime)
    found = image.require(name, await engine.image(name))
    kind = Kind(
        # By its id: whatever takes the name later was not looked at.
        image=found.id,
        runtime=runtime,
        cpus=cpus,
        filter=seccomp.text(),
        environment=image.environment(),
        labels=owner.labels,
    )
    return Station(engine, facts, found, kind, owner, await follow(engine, owner))


async def follow(engine: Engine, owner: Owner, since: int | None = None) -> Events:
    """How this owner's containers fare. What was of a time before may be told twice."""
    return await engine.events(f"{OWNER}={owner.id}", EVENTS, since)


def _require(facts: Facts, runtime: str | None) -> None:
    """Raises SandboxUnavailable where the engine cannot hold a room as it must be held."""
    if runtime is not None and runtime not in facts.runtimes:
        raise SandboxUnavailable(
            f"the engine has no runtime {runtime!r}, only {', '.join(facts.runtimes)}. Name it in "
            "the engine's daemon.json and restart the engine"
        )
    if "seccomp" not in facts.security:
        raise SandboxUnavailable("the engine was built, or started, without system call filters")
