"""The worker's end of a container's relays: connections of the code's, over streams of the engine.

`zygote/relay.py` has what goes over them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial

from sandbox import policy
from sandbox.agent.wire import READY
from sandbox.docker import image
from sandbox.docker.address import Connection
from sandbox.docker.engine import Engine
from sandbox.docker.stream import Streams
from sandbox.zygote.relay import CLOSE, PIECE_BYTES

ACCEPTORS = 3
"""Relays that wait for a connection: one takes the engine some 0.1 s to start."""
CONNECTIONS = 16
_START = (
    f"import sys; sys.path.insert(0, {policy.AGENT_ROOT!r}); "
    "from sandbox.zygote.relay import main; main()"
)
_COMMAND = (image.PYTHON, "-I", "-S", "-c", _START)
_EMPTY = bytes(4)
_GONE = (OSError, EOFError)


class Relay:
    """One that runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._writer = connection, connection.writer
        self._streams = Streams(connection.reader)

    async def ready(self) -> None:
        """Have it take a connection. Raises OSError, EOFError."""
        self._writer.write(_EMPTY)
        await self._streams.readexactly(len(READY))

    async def copy(
        self,
        answering: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Copy between its connection and who answers that, at the other end of `reader` and
        `writer`, until `answering` is closed. Raises OSError, EOFError where it has gone.
        """
        outward = asyncio.create_task(self._outward(writer))
        try:
            await self._inward(reader, answering)
            await outward
        finally:
            outward.cancel()
            await asyncio.gather(outward, return_exceptions=True)

    def close(self) -> None:
        """Hang up, which ends it."""
        self._connection.close()

    async def _outward(self, writer: asyncio.StreamWriter) -> None:
        """What the code says, to the end; nobody may listen any more. Where no connection is to be
        had with a relay any more, nor is one with who answers.
        """
        try:
            while size := int.from_bytes(await self._streams.readexactly(4), "big"):
                if size > PIECE_BYTES:
                    raise EOFError("not a relay's piece")
                data = await self._streams.readexactly(size)
                if not writer.is_closing():
                    writer.write(data)
                    with contextlib.suppress(OSError):
                        await writer.drain()
        except _GONE:
            writer.transport.abort()
            raise
        with contextlib.suppress(OSError):
            writer.write_eof()

    async def _inward(self, reader: asyncio.StreamReader, answering: asyncio.StreamWriter) -> None:
        """What it is answered."""
        with contextlib.suppress(ConnectionError):  # closed with something unread
            while data := await reader.read(PIECE_BYTES):
                self._writer.write(len(data).to_bytes(4, "big") + data)
                await self._writer.drain()
        self._writer.write(_EMPTY)
        with contextlib.suppress(OSError):
            await answering.wait_closed()
        self._writer.write(CLOSE.to_bytes(4, "big"))
        await self._writer.drain()


class Relays:
    """Those of one container. The `first` is started ahead, to see that the engine does so."""

    def __init__(self, engine: Engine, container: str, first: Relay) -> None:
        self._engine, self._container = engine, container
        # Those that are free, and last a None for each that may still be started.
        self._places: asyncio.LifoQueue[Relay | None] = asyncio.LifoQueue()
        for place in (*((CONNECTIONS - 1) * [None]), first):
            self._places.put_nowait(place)
        self._copying: set[asyncio.Task[None]] = set()

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Have a relay take a connection. Raises SandboxUnavailable, OSError, and EOFError where it
        has ended.
        """
        relay = await self._places.get()
        try:
            relay = relay or await start(self._engine, self._container)
            await relay.ready()
            reader, writer, theirs, to_them = await _pair()
        except BaseException:
            if relay is not None:
                relay.close()
            self._places.put_nowait(None)
            raise
        copying = asyncio.create_task(relay.copy(writer, theirs, to_them))
        self._copying.add(copying)
        copying.add_done_callback(partial(self._copied, relay, to_them))
        return reader, writer

    async def end(self) -> None:
        """Hang up."""
        for each in self._copying:
            each.cancel()
        await asyncio.gather(*self._copying, return_exceptions=True)
        while not self._places.empty():
            if (relay := self._places.get_nowait()) is not None:
                relay.close()

    def _copied(
        self, relay: Relay, writer: asyncio.StreamWriter, copying: asyncio.Task[None]
    ) -> None:
        """Its connection is over, and it may take another; or it has gone, or has to go."""
        self._copying.discard(copying)
        writer.transport.abort()
        is_gone = copying.cancelled() or copying.exception() is not None
        if is_gone:
            relay.close()
        self._places.put_nowait(None if is_gone else relay)


async def start(engine: Engine, container: str) -> Relay:
    """Start one. Raises SandboxUnavailable."""
    return Relay(await engine.execute(container, _COMMAND))


async def _pair() -> tuple[
    asyncio.StreamReader, asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamWriter
]:
    """Both ends of a connection within this process."""
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as undo:
        undo.callback(theirs.close)
        undo.callback(ours.close)
        reader, writer = await asyncio.open_unix_connection(sock=ours)
        undo.callback(writer.transport.abort)
        ends = await asyncio.open_unix_connection(sock=theirs)
        undo.pop_all()
    return reader, writer, *ends
