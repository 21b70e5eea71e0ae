"""One engine in use: its facts, the sandboxes' image, its events, and the removal of containers."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from pathlib import Path

from sandbox.docker import container, garbage_collection, image, profile
from sandbox.docker.container import EVENTS, DockerInstance, RunEvents
from sandbox.docker.engine import ContainerEvents, DockerEngine, EngineFacts, EngineLost
from sandbox.docker.garbage_collection import MARK, OWNER, Owner
from sandbox.docker.image import SandboxImage
from sandbox.docker.profile import ContainerTemplate
from sandbox.docker.tree_images import TreeImages
from sandbox.order import EncodedOrder, encode_order
from sandbox.protocol import Command, Limits, SandboxUnavailable
from sandbox.seccomp.filters import engine_profile_text

SWEEP_SECONDS = 60.0
RECONNECT_SECONDS = 0.2
"""Before a cut event stream is opened again: less than a run waits for the event of a kill."""


class DockerSession:
    """Opened by `open_session`; `lost` after the engine has ended. Implements
    `pool.BackendSession`.
    """

    def __init__(
        self,
        engine: DockerEngine,
        facts: EngineFacts,
        image: SandboxImage,
        template: ContainerTemplate,
        owner: Owner,
        events: ContainerEvents,
        trees_directory: Path | None = None,
    ) -> None:
        self.engine, self.facts, self.image, self.template = engine, facts, image, template
        self.lost = self.closed = False
        self._owner, self._events = owner, events
        self._tree_images = (
            None if trees_directory is None else TreeImages(engine, image, trees_directory, owner)
        )
        self._used_marks: set[str] = set()
        """The marks of containers that this session uses or makes."""
        self._run_events: dict[str, RunEvents] = {}
        self._tasks = (
            asyncio.create_task(self._follow_events()),
            asyncio.create_task(self._sweep()),
        )

    def encode_order(self, command: Command, limits: Limits) -> EncodedOrder:
        """See `pool.BackendSession.encode_order`. The container has no user namespace of its own,
        so RLIMIT_NPROC would count over the full machine. It is set only if the cgroup cannot
        count.
        """
        files = 0 if self._tree_images is None else self._tree_images.files(command.trees)
        rlimit_of = {"memory": "RLIMIT_AS", "pids": "RLIMIT_NPROC"}
        limitable = self.facts.limitable
        omitted = [rlimit for resource, rlimit in rlimit_of.items() if resource in limitable]
        return encode_order(
            command, limits, image.PYTHON, omitted_rlimits=omitted, base_files=files
        )

    async def make(
        self, limits: Limits, *, load: bool, trees: tuple[str, ...] = (), proxy: bool = False
    ) -> DockerInstance:
        """See `pool.BackendSession.make`."""
        mark = uuid.uuid4().hex
        self._used_marks.add(mark)
        try:
            return await self._make(limits, mark, load=load, trees=trees, proxy=proxy)
        except BaseException:
            self._used_marks.discard(mark)
            raise

    def handle_error(self, error: SandboxUnavailable) -> None:
        """See `pool.BackendSession.handle_error`."""
        if isinstance(error, EngineLost) and not self.closed:
            self.lost = True  # a session that is being closed still has to remove containers

    async def prepare(self, command: Command) -> None:
        """See `pool.BackendSession.prepare`: does nothing."""

    async def warm(self) -> None:
        """See `pool.BackendSession.warm`: each container that is kept ready has the libraries."""

    async def stop(self) -> None:
        """See `pool.BackendSession.stop`. If the engine does not answer a ping, cuts all calls."""
        self.closed = True
        self.lost = self.lost or not await self.engine.answers()
        if self.lost:
            self.engine.drop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """See `pool.BackendSession.close`."""
        if not self.lost:  # the pool has ended its sandboxes; containers may remain after an error
            self._used_marks.clear()
            with contextlib.suppress(SandboxUnavailable):
                await self._remove_unused(f"{OWNER}={self._owner.id}")
        self._events.stream.close()

    def follow_run(self, container: str, events: RunEvents) -> None:
        """Add the engine's events of a container to `events`."""
        self._run_events[container] = events

    async def remove(self, container: str, mark: str) -> None:
        """Remove a container."""
        self._run_events.pop(container, None)
        try:
            if not self.lost:
                await self.engine.remove(container)
        finally:
            # If the engine refused to remove it, `_sweep` tries again.
            self._used_marks.discard(mark)

    async def _make(
        self, limits: Limits, mark: str, *, load: bool, trees: tuple[str, ...], proxy: bool
    ) -> DockerInstance:
        container_limits = profile.container_limits(limits)
        try:
            tree_image = None
            if trees and self._tree_images is not None:
                tree_image = await self._tree_images.image(trees, self._used_marks)
            return await container.make(
                self, container_limits, mark, load=load, tree_image=tree_image, proxy=proxy
            )
        except EngineLost:
            raise
        except SandboxUnavailable as error:
            if not await self.engine.answers():
                raise EngineLost("the engine was lost while a container was made") from error
            raise

    async def _follow_events(self) -> None:
        """Pass events to runs until the engine has ended. If the connection is cut, for example by
        a proxy that ends idle connections, opens it again; runs do not notice.
        """
        started_at = self._events.started_at
        while True:
            async for event in self._events.stream:
                run_events = self._run_events.get(event.get("Actor", {}).get("ID", ""))
                if run_events is not None:
                    run_events.add(event)
            self._events.stream.close()
            await asyncio.sleep(RECONNECT_SECONDS)
            try:
                if await self.engine.facts() != self.facts:
                    break
                self._events = await open_events(self.engine, self._owner, started_at)
            except SandboxUnavailable:
                break
        self.lost = True

    async def _sweep(self) -> None:
        """Remove unused containers and images now, and periodically."""
        while True:
            with contextlib.suppress(SandboxUnavailable):  # the next run will report it
                await self._remove_unused(OWNER)
                if self._tree_images is not None:
                    await self._tree_images.remove_unused()
            await asyncio.sleep(SWEEP_SECONDS)

    async def _remove_unused(self, label: str) -> None:
        """Remove containers with the label that belong to dead workers, and containers of this
        owner that it does not use: the engine did not answer the call that made one, or could not
        remove it. If the engine refuses to remove one of them, continues with the next.
        """
        for listed in await self.engine.containers(label):
            is_own = listed.labels.get(OWNER) == self._owner.id
            is_unused = is_own and listed.labels.get(MARK) not in self._used_marks
            if is_unused or garbage_collection.is_abandoned(
                listed.labels, listed.age, self._owner, garbage_collection.is_alive
            ):
                try:
                    await self.engine.remove(listed.id)
                except EngineLost:
                    raise
                except SandboxUnavailable:
                    continue


async def open_session(
    engine: DockerEngine,
    owner: Owner,
    image_name: str,
    runtime: str | None,
    cpus: float,
    trees_directory: Path | None = None,
) -> DockerSession:
    """Connect to the engine, and check its capabilities and its image. Raises SandboxUnavailable.

    An owner has one session at a time: the next session removes the containers of a lost one.
    """
    await engine.open()
    facts = await engine.facts()
    _require_suitable(facts, runtime)
    sandbox_image = image.require_image(image_name, await engine.image(image_name))
    template = ContainerTemplate(
        # By its id, because another image may get the name later.
        image=sandbox_image.id,
        runtime=runtime,
        cpus=cpus,
        filter=engine_profile_text(),
        environment=image.environment(),
        labels=owner.labels,
    )
    events = await open_events(engine, owner)
    return DockerSession(engine, facts, sandbox_image, template, owner, events, trees_directory)


async def open_events(
    engine: DockerEngine, owner: Owner, since: int | None = None
) -> ContainerEvents:
    """Follow the events of this owner's containers. Earlier events may be repeated."""
    return await engine.events(f"{OWNER}={owner.id}", EVENTS, since)


def _require_suitable(facts: EngineFacts, runtime: str | None) -> None:
    """Raise SandboxUnavailable if the engine cannot isolate a sandbox."""
    if runtime is not None and runtime not in facts.runtimes:
        raise SandboxUnavailable(
            f"the engine has no runtime {runtime!r}, only {', '.join(facts.runtimes)}. Name it in "
            "the engine's daemon.json and restart the engine"
        )
    if "seccomp" not in facts.security:
        raise SandboxUnavailable("the engine was built, or started, without system call filters")
