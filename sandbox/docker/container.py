"""One container: made for one run, and attached before it starts."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sandbox import policy
from sandbox.agent.wire import READY
from sandbox.docker import image, profile, relays
from sandbox.docker.connection import ContainerStreams, EngineConnection
from sandbox.docker.engine import DockerEngine, EngineLost
from sandbox.docker.garbage_collection import MARK
from sandbox.docker.profile import UIDS, ContainerLimits, ContainerTemplate
from sandbox.docker.relays import Relays
from sandbox.docker.tree_images import TreeImage
from sandbox.pool import wait_until_done
from sandbox.protocol import PROXY_PORT, End, Limits, RunResult, SandboxUnavailable
from sandbox.result import ExitReport

OOM_SECONDS = 0.5
"""How long the engine may take to report that the kernel killed a process because of its memory; it
takes some milliseconds."""
END_SECONDS = 2.0
"""How long the engine may take to report the end of a container, after its streams ended."""
EVENTS = ("oom", "die")


@dataclass(eq=False, slots=True)
class RunEvents:
    """The engine's events about one container during its run."""

    _has_hit_memory_limit: asyncio.Event = field(default_factory=asyncio.Event)
    _has_ended: asyncio.Event = field(default_factory=asyncio.Event)
    _exit_code: str | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        """Record one of `EVENTS`."""
        if event.get("Action") == "oom":
            self._has_hit_memory_limit.set()
        elif event.get("Action") == "die":
            self._exit_code = (event["Actor"].get("Attributes") or {}).get("exitCode")
            self._has_ended.set()

    async def hit_memory_limit(self, *, wait: bool) -> bool:
        """Whether the kernel has killed a process of the container because of its memory. `wait` a
        moment for the event."""
        return await _wait_for(self._has_hit_memory_limit, OOM_SECONDS if wait else 0)

    async def was_ended_by_code(self) -> bool:
        """Whether the code has ended the container. Call it after the streams have ended.

        If the streams were cut between worker and engine, the agent ends with exit code 0 and
        without an answer, or the container still runs.
        """
        return await _wait_for(self._has_ended, END_SECONDS) and self._exit_code != "0"


class EngineSession(Protocol):
    """The part of `DockerSession` that a container needs."""

    engine: DockerEngine
    template: ContainerTemplate
    closed: bool
    lost: bool

    def follow_run(self, container: str, events: RunEvents) -> None:
        """Add the events of a container to `events`."""

    async def remove(self, container: str, mark: str) -> None:
        """Remove a container."""


class DockerInstance:
    """A container; its agent waits for an order. Implements `pool.Instance`."""

    def __init__(
        self,
        session: EngineSession,
        container_id: str,
        container_limits: ContainerLimits,
        mark: str,
        connection: EngineConnection,
        streams: ContainerStreams,
        relays: Relays | None,
    ) -> None:
        self.id, self.reader, self._relays = container_id, streams, relays
        self._session, self._limits, self._mark = session, container_limits, mark
        self._connection, self._run_events = connection, RunEvents()
        self._is_ended = False

    @property
    def writer(self) -> asyncio.StreamWriter:
        """See `pool.Instance.writer`."""
        return self._connection.writer

    @property
    def lost(self) -> bool:
        """See `pool.Instance.lost`: it has ended, or its connection was cut."""
        reader = self._connection.reader
        return reader.at_eof() or reader.exception() is not None

    def fits(self, limits: Limits) -> bool:
        """See `pool.Instance.fits`."""
        return self._limits == profile.container_limits(limits)

    async def start(self, limits: Limits) -> None:  # noqa: ARG002
        """See `pool.Instance.start`; its limits were set when it was made."""
        self._session.follow_run(self.id, self._run_events)

    max_acceptors, max_connections = relays.MAX_ACCEPTORS, relays.MAX_CONNECTIONS

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `pool.Instance.accept`."""
        if self._relays is None:
            raise SandboxUnavailable("a container that was made without a proxy")
        return await self._relays.accept()

    async def report(self, result: RunResult | None, *, was_cut: bool) -> ExitReport:
        """See `pool.Instance.report`. The agent has the code's uid: if it is silent or sends a
        forged answer, the code is the cause, unless the engine was lost or the connection was cut
        between worker and engine.
        """
        if result is None:
            await self._require_engine()
            if was_cut and not await self._run_events.was_ended_by_code():
                return ExitReport(lost=True, reason="the connection to a run's container was cut")
        # If the kernel kills a process because of its memory, the agent does not know the reason.
        was_killed = result is None or result.signal == signal.SIGKILL or result.end is End.KILLED
        if was_killed or (result is not None and result.end is End.EXITED):
            hit_limit = await self._run_events.hit_memory_limit(wait=was_killed)
            return ExitReport(oom_kills=int(hit_limit))
        return ExitReport()

    async def end(self) -> None:
        """See `pool.Instance.end`."""
        if self._is_ended:
            return
        self._is_ended = True
        try:
            if self._relays is not None:
                await self._relays.end()
            await self._session.remove(self.id, self._mark)
        finally:
            self._connection.close()

    async def _require_engine(self) -> None:
        if self._session.closed:  # with this backend, or because another run has lost the engine
            raise EngineLost("the connection to the engine was closed during a run")
        if not await self._session.engine.answers():
            self._session.lost = True  # so that its container is not removed
            raise EngineLost("the engine was lost during a run")


async def make(
    session: EngineSession,
    container_limits: ContainerLimits,
    mark: str,
    *,
    load: bool,
    tree_image: TreeImage | None = None,
    proxy: bool = False,
) -> DockerInstance:
    """Make a container with the label `mark`, and wait until its agent is ready. If the call fails
    or is cancelled, removes the container. Raises SandboxUnavailable.
    """
    engine = session.engine
    template = replace(session.template, labels={**session.template.labels, MARK: mark})
    trees = None if tree_image is None else image.TREES
    words = agent_command(load=load, trees=trees, proxy_port=PROXY_PORT if proxy else 0)
    ready_seconds = policy.READY_SECONDS
    if tree_image is not None:
        template = replace(template, image=tree_image.id)
        ready_seconds = policy.COPY_SECONDS
        container_limits = profile.add_trees(
            container_limits, tree_image.work_bytes, tree_image.files
        )
    if proxy:
        container_limits = profile.add_relays(container_limits, relays.MAX_CONNECTIONS)
    create_task = asyncio.create_task(_create(engine, template, container_limits, words))
    connection = container_relays = None
    try:
        container_id = await asyncio.shield(create_task)
        connection = await engine.attach(container_id)
        await engine.start(container_id)
        streams = ContainerStreams(connection.reader)
        await _wait_until_ready(streams, ready_seconds)
        if proxy:
            first_relay = await relays.start_relay(engine, container_id)
            container_relays = Relays(engine, container_id, first_relay)
    except BaseException:
        if connection is not None:
            connection.close()
        await wait_until_done(asyncio.create_task(_remove_created(engine, create_task)))
        raise
    return DockerInstance(
        session, container_id, container_limits, mark, connection, streams, container_relays
    )


def agent_command(*, load: bool, trees: str | None, proxy_port: int) -> tuple[str, ...]:
    """The container's command, which runs the agent (`zygote/container.py` has the arguments).

    It starts like the code's interpreter, because the code is forked from it.
    """
    start_code = (
        f"import sys; sys.path.insert(0, {policy.AGENT_ROOT!r}); "
        "from sandbox.zygote.interpreter import start; "
        "from sandbox.zygote.container import prepare_agent; "
        f"start(lambda: prepare_agent(load={load}, trees={trees!r}, proxy_port={proxy_port}))"
    )
    return (image.PYTHON, "-P", "-c", start_code)


async def _create(
    engine: DockerEngine,
    template: ContainerTemplate,
    container_limits: ContainerLimits,
    command: tuple[str, ...],
) -> str:
    """Create a container with a free uid; returns its id. Tries the uids in random order, because
    other workers try them at the same time, and because a uid must reveal nothing about other
    sandboxes.
    """
    for uid in random.SystemRandom().sample(UIDS, len(UIDS)):
        request = profile.create_request(template, container_limits, command, uid)
        container_id = await engine.create(request, profile.container_name(uid))
        if container_id is not None:
            return container_id
    raise SandboxUnavailable(f"the engine has {len(UIDS)} sandboxes, and no free uid for another")


async def _remove_created(engine: DockerEngine, create_task: asyncio.Task[str]) -> None:
    """Remove a container after its creation has ended: to cancel the call would not stop the
    engine."""
    with contextlib.suppress(SandboxUnavailable):
        await engine.remove(await create_task)


async def _wait_until_ready(streams: ContainerStreams, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            if await streams.readexactly(len(READY)) == READY:
                return
        reason = "its agent sent an unexpected message"
    except (OSError, EOFError) as error:
        timed_out = isinstance(error, TimeoutError)
        reason = f"its agent was not ready within {seconds:.0f} s" if timed_out else "it ended"
    raise SandboxUnavailable(
        f"a container did not become a sandbox: {reason}: {streams.stderr_tail}"
    )


async def _wait_for(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()
