"""One container as its worker holds it: made for one run, attached to before it starts."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from dataclasses import dataclass, replace
from typing import Any

from sandbox import policy
from sandbox.docker import image
from sandbox.docker.address import Connection
from sandbox.docker.engine import Engine
from sandbox.docker.leftovers import MARK
from sandbox.docker.profile import UIDS, Kind, Shape, container, name
from sandbox.docker.stream import Streams
from sandbox.protocol import SandboxUnavailable

READY = b"R"


@dataclass(eq=False, slots=True)
class Container:
    """A container whose agent waits for its order."""

    id: str
    shape: Shape
    connection: Connection
    streams: Streams
    made: float
    """On the monotonic clock."""
    mark: str

    @property
    def lost(self) -> bool:
        """Whether it is known to have ended, or its connection to have been cut."""
        reader = self.connection.reader
        return reader.at_eof() or reader.exception() is not None


def command(*, load: bool) -> tuple[str, ...]:
    """What runs in it: the agent, with the usual libraries loaded beforehand or not.

    Started as the code's interpreter would be, because the code is forked from it.
    """
    start = (
        f"import sys; sys.path.insert(0, {policy.ROOM_SOURCE!r}); "
        "from sandbox.room.interpreter import trampoline; "
        "from sandbox.room.container import main; "
        f"trampoline(lambda: main(load={load}))"
    )
    return (image.PYTHON, "-P", "-c", start)


async def make(engine: Engine, kind: Kind, shape: Shape, mark: str, *, load: bool) -> Container:
    """Make a container that bears the mark, and wait until its agent is ready. Of one that fails,
    or is cancelled, nothing is left. Raises SandboxUnavailable.
    """
    kind = replace(kind, labels={**kind.labels, MARK: mark})
    creating = asyncio.create_task(_create(engine, kind, shape, command(load=load)))
    connection = None
    try:
        made = await asyncio.shield(creating)
        connection = await engine.attach(made)
        await engine.start(made)
        streams = Streams(connection.reader)
        await _ready(streams)
    except BaseException:
        if connection is not None:
            connection.close()
        await to_its_end(asyncio.create_task(_undo(engine, creating)))
        raise
    return Container(made, shape, connection, streams, time.monotonic(), mark)


async def _create(engine: Engine, kind: Kind, shape: Shape, command: tuple[str, ...]) -> str:
    """A container whose user no other has. They are tried in no order, since another worker tries
    them as well, and what a room sees of its number is not to tell of others.
    """
    for uid in random.SystemRandom().sample(UIDS, len(UIDS)):
        made = await engine.create(container(kind, shape, command, uid), name(uid))
        if made is not None:
            return made
    raise SandboxUnavailable(f"the engine has {len(UIDS)} rooms, and no user for another")


async def to_its_end(task: asyncio.Task[Any]) -> None:
    """Wait for it, however often who waits is cancelled: a loop that is interrupted cancels all
    tasks, and then the pool, which is being closed for that, its builders again.

    Who was cancelled meanwhile is so afterwards. How the task ended is nothing to who waits: he has
    an end of his own to tell.
    """
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


async def _undo(engine: Engine, creating: asyncio.Task[str]) -> None:
    """Remove what was made, or is about to be: who stops listening does not stop the engine."""
    with contextlib.suppress(SandboxUnavailable):
        await engine.remove(await creating)


async def _ready(streams: Streams) -> None:
    try:
        async with asyncio.timeout(policy.READY_SECONDS):
            if await streams.readexactly(len(READY)) == READY:
                return
        why = "its agent sent something else than that it is ready"
    except (OSError, EOFError) as error:
        timed_out = isinstance(error, TimeoutError)
        why = (
            f"its agent was not ready within {policy.READY_SECONDS:.0f} s"
            if timed_out
            else "it ended"
        )
    raise SandboxUnavailable(f"a container did not become a room: {why}: {streams.complaint}")
