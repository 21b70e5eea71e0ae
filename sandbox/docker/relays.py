"""The worker's side of a container's relays: connections of the code over streams of the engine.

`zygote/relay.py` documents the data on these streams.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from functools import partial

from sandbox import policy
from sandbox.agent.wire import READY
from sandbox.docker import image
from sandbox.docker.connection import ContainerStreams, EngineConnection
from sandbox.docker.engine import DockerEngine
from sandbox.zygote.relay import CLOSE, PIECE_BYTES

MAX_ACCEPTORS = 3
"""Relays that wait for a connection; the engine takes some 0.1 s to start one."""
MAX_CONNECTIONS = 16
_START_CODE = (
    f"import sys; sys.path.insert(0, {policy.AGENT_ROOT!r}); "
    "from sandbox.zygote.relay import main; main()"
)
_COMMAND = (image.PYTHON, "-I", "-S", "-c", _START_CODE)
_EMPTY_PIECE = bytes(4)
_RELAY_ENDED = (OSError, EOFError)


class Relay:
    """One running relay."""

    def __init__(self, connection: EngineConnection) -> None:
        self._connection, self._writer = connection, connection.writer
        self._streams = ContainerStreams(connection.reader)

    async def take_connection(self) -> None:
        """Wait until the relay has a connection. Raises OSError, EOFError."""
        self._writer.write(_EMPTY_PIECE)
        await self._streams.readexactly(len(READY))

    async def copy(
        self,
        handler_writer: asyncio.StreamWriter,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Copy between the relay's connection and the handler (its data is on `reader` and
        `writer`) until the handler closes `handler_writer`. Raises OSError, EOFError if the relay
        has ended.
        """
        to_handler = asyncio.create_task(self._copy_to_handler(writer))
        try:
            await self._copy_from_handler(reader, handler_writer)
            await to_handler
        finally:
            to_handler.cancel()
            await asyncio.gather(to_handler, return_exceptions=True)

    def close(self) -> None:
        """Close the relay's streams, which ends it."""
        self._connection.close()

    async def _copy_to_handler(self, writer: asyncio.StreamWriter) -> None:
        """Copy the code's data to its end, also after the handler has stopped reading. If the relay
        has ended, cuts the handler's connection too.
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
        except _RELAY_ENDED:
            writer.transport.abort()
            raise
        with contextlib.suppress(OSError):
            writer.write_eof()

    async def _copy_from_handler(
        self, reader: asyncio.StreamReader, handler_writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError):  # closed with unread data
            while data := await reader.read(PIECE_BYTES):
                self._writer.write(len(data).to_bytes(4, "big") + data)
                await self._writer.drain()
        self._writer.write(_EMPTY_PIECE)
        with contextlib.suppress(OSError):
            await handler_writer.wait_closed()
        self._writer.write(CLOSE.to_bytes(4, "big"))
        await self._writer.drain()


class Relays:
    """The relays of one container. `first` was started earlier, to test that the engine can."""

    def __init__(self, engine: DockerEngine, container: str, first: Relay) -> None:
        self._engine, self._container = engine, container
        self._free: asyncio.LifoQueue[Relay | None] = asyncio.LifoQueue()
        """Idle relays, and None for each relay that may still be started (used last)."""
        for relay in (*((MAX_CONNECTIONS - 1) * [None]), first):
            self._free.put_nowait(relay)
        self._copy_tasks: set[asyncio.Task[None]] = set()

    async def accept(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Wait until a relay has a connection. Raises SandboxUnavailable, OSError, and EOFError if
        the relay has ended.
        """
        relay = await self._free.get()
        try:
            relay = relay or await start_relay(self._engine, self._container)
            await relay.take_connection()
            reader, writer, relay_reader, relay_writer = await _connected_streams()
        except BaseException:
            if relay is not None:
                relay.close()
            self._free.put_nowait(None)
            raise
        task = asyncio.create_task(relay.copy(writer, relay_reader, relay_writer))
        self._copy_tasks.add(task)
        task.add_done_callback(partial(self._on_copied, relay, relay_writer))
        return reader, writer

    async def end(self) -> None:
        """Close all connections and relays."""
        for task in self._copy_tasks:
            task.cancel()
        await asyncio.gather(*self._copy_tasks, return_exceptions=True)
        while not self._free.empty():
            if (relay := self._free.get_nowait()) is not None:
                relay.close()

    def _on_copied(
        self, relay: Relay, writer: asyncio.StreamWriter, task: asyncio.Task[None]
    ) -> None:
        """Reuse the relay after its connection has ended, or close it after a failure."""
        self._copy_tasks.discard(task)
        writer.transport.abort()
        has_failed = task.cancelled() or task.exception() is not None
        if has_failed:
            relay.close()
        self._free.put_nowait(None if has_failed else relay)


async def start_relay(engine: DockerEngine, container: str) -> Relay:
    """Start a relay in a container. Raises SandboxUnavailable."""
    return Relay(await engine.execute(container, _COMMAND))


async def _connected_streams() -> tuple[
    asyncio.StreamReader, asyncio.StreamWriter, asyncio.StreamReader, asyncio.StreamWriter
]:
    """Both ends of a new connection within this process."""
    first, second = socket.socketpair()
    with contextlib.ExitStack() as undo:
        undo.callback(second.close)
        undo.callback(first.close)
        reader, writer = await asyncio.open_unix_connection(sock=first)
        undo.callback(writer.transport.abort)
        second_end = await asyncio.open_unix_connection(sock=second)
        undo.pop_all()
    return reader, writer, *second_end
