"""One container as its worker holds it: made for one run, attached to before it starts."""

from __future__ import annotations

import asyncio
import contextlib
import random
import signal
from dataclasses import replace
from typing import Protocol

from sandbox import policy
from sandbox.agent.wire import READY
from sandbox.docker import image, profile
from sandbox.docker.address import Connection
from sandbox.docker.containers import relays
from sandbox.docker.containers.events import RunEvents
from sandbox.docker.containers.relays import Relays
from sandbox.docker.engine import Engine, EngineLost
from sandbox.docker.garbage_collection import MARK
from sandbox.docker.layered.image import LayeredImage
from sandbox.docker.profile import UIDS, ContainerLimits, ContainerTemplate, container, name
from sandbox.docker.stream import Streams
from sandbox.pool import to_its_end
from sandbox.protocol import PROXY_PORT, End, Limits, RunResult, SandboxUnavailable
from sandbox.result import ExitReport


class Session(Protocol):
    """The backend's session with its engine, as a container needs it."""

    engine: Engine
    template: ContainerTemplate
    closed: bool
    lost: bool

    def begin(self, container: str, events: RunEvents) -> None:
        """Have the events of a container's run collected."""

    async def remove(self, container: str, mark: str) -> None:
        """Remove a container for good."""


class DockerInstance:
    """A container whose agent waits for its order; implements `pool.Instance`."""

    def __init__(
        self,
        session: Session,
        id_: str,
        container_limits: ContainerLimits,
        mark: str,
        connection: Connection,
        streams: Streams,
        relays: Relays | None,
    ) -> None:
        self.id, self.reader, self._relays = id_, streams, relays
        self._session, self._limits, self._mark = session, container_limits, mark
        self._connection, self._run_events = connection, RunEvents()
        self._ended = False

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
        """See `pool.Instance.start`; its bounds are those that it was made with."""
        self._session.begin(self.id, self._run_events)

    acceptors, connections = relays.ACCEPTORS, relays.CONNECTIONS

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """See `pool.Instance.accept`."""
        if self._relays is None:
            raise SandboxUnavailable("a container that was made without a proxy")
        return await self._relays.accept()

    async def report(self, result: RunResult | None, *, cut: bool) -> ExitReport:
        """See `pool.Instance.report`. The agent shares the code's uid: one that falls silent or
        lies was its code's doing, unless the engine was lost, or who stands between cut the
        connection.
        """
        if result is None:
            await self._require_engine()
            if cut and not await self._run_events.ended_by_itself():
                return ExitReport(lost=True, why="the connection to a run's container was cut")
        # The kernel kills for memory without a word to the agent: only the engine knows.
        killed = result is None or result.signal == signal.SIGKILL or result.end is End.KILLED
        if killed or (result is not None and result.end is End.EXITED):
            short = await self._run_events.hit_memory_limit(wait=killed)
            return ExitReport(oom_kills=int(short))
        return ExitReport()

    async def end(self) -> None:
        """See `pool.Instance.end`."""
        if self._ended:
            return
        self._ended = True
        try:
            if self._relays is not None:
                await self._relays.end()
            await self._session.remove(self.id, self._mark)
        finally:
            self._connection.close()

    async def _require_engine(self) -> None:
        if self._session.closed:  # with this backend, or because another run found it lost
            raise EngineLost("the engine was left during a run")
        if not await self._session.engine.answers():
            self._session.lost = True  # before its container is to be removed
            raise EngineLost("the engine was lost during a run")


def command(*, load: bool, base: str | None, port: int) -> tuple[str, ...]:
    """What runs in it: the agent, with the usual libraries loaded beforehand or not, a copy of
    `base` in `/work` or none, and a `port` whose connections are relayed, or 0.

    Started as the code's interpreter would be, because the code is forked from it.
    """
    start = (
        f"import sys; sys.path.insert(0, {policy.AGENT_ROOT!r}); "
        "from sandbox.zygote.interpreter import trampoline; "
        "from sandbox.zygote.container import main; "
        f"trampoline(lambda: main(load={load}, base={base!r}, port={port}))"
    )
    return (image.PYTHON, "-P", "-c", start)


async def make(
    session: Session,
    container_limits: ContainerLimits,
    mark: str,
    *,
    load: bool,
    layered: LayeredImage | None = None,
    proxy: bool = False,
) -> DockerInstance:
    """Make a container labelled with the mark, and wait until its agent is ready. Of one that
    fails, or is cancelled, nothing is left. Raises SandboxUnavailable.
    """
    engine = session.engine
    template = replace(session.template, labels={**session.template.labels, MARK: mark})
    base = None if layered is None else image.BASE
    words = command(load=load, base=base, port=PROXY_PORT if proxy else 0)
    if layered is not None:
        template = replace(template, image=layered.id)
        container_limits = profile.with_base(container_limits, layered.work_bytes, layered.files)
    if proxy:
        container_limits = profile.with_relays(container_limits, relays.CONNECTIONS)
    creating = asyncio.create_task(_create(engine, template, container_limits, words))
    connection = relaying = None
    try:
        made = await asyncio.shield(creating)
        connection = await engine.attach(made)
        await engine.start(made)
        streams = Streams(connection.reader)
        await _ready(streams, policy.READY_SECONDS if layered is None else policy.COPIED_SECONDS)
        if proxy:
            relaying = Relays(engine, made, await relays.start(engine, made))
    except BaseException:
        if connection is not None:
            connection.close()
        await to_its_end(asyncio.create_task(_undo(engine, creating)))
        raise
    return DockerInstance(session, made, container_limits, mark, connection, streams, relaying)


async def _create(
    engine: Engine,
    template: ContainerTemplate,
    container_limits: ContainerLimits,
    command: tuple[str, ...],
) -> str:
    """A container whose user no other has. They are tried in no order, since another worker tries
    them as well, and what a sandbox sees of its number must reveal nothing of others.
    """
    for uid in random.SystemRandom().sample(UIDS, len(UIDS)):
        made = await engine.create(container(template, container_limits, command, uid), name(uid))
        if made is not None:
            return made
    raise SandboxUnavailable(f"the engine has {len(UIDS)} sandboxes, and no user for another")


async def _undo(engine: Engine, creating: asyncio.Task[str]) -> None:
    """Remove what was made, or is about to be: who stops listening does not stop the engine."""
    with contextlib.suppress(SandboxUnavailable):
        await engine.remove(await creating)


async def _ready(streams: Streams, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            if await streams.readexactly(len(READY)) == READY:
                return
        why = "its agent sent something else than that it is ready"
    except (OSError, EOFError) as error:
        timed_out = isinstance(error, TimeoutError)
        why = f"its agent was not ready within {seconds:.0f} s" if timed_out else "it ended"
    raise SandboxUnavailable(f"a container did not become a sandbox: {why}: {streams.stderr_tail}")
