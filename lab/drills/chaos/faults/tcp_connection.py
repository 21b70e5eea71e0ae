"""One connection through the proxy: bytes are passed on, late, slowly, partly or not at all."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

CHUNK = 64 * 1024
SETTLE_SECONDS = 0.02
IN_FLIGHT = 64
"""The number of chunks in flight with latency."""


Line: TypeAlias = "asyncio.Queue[tuple[float, bytes | None]]"
"""A chunk in flight and its time. Empty: the end of the stream. None: an end that is not
passed on.
"""


class Direction(StrEnum):
    """A direction: `up` from the client to the server, `down` back."""

    UP = "up"
    DOWN = "down"


class Side(StrEnum):
    """An end of a connection."""

    CLIENT = "client"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class NetworkFault:
    """The fault of one direction. By default, bytes are passed on at once."""

    latency_seconds: float = 0.0
    bytes_per_second: int | None = None
    """The rate of a slow reader: unread bytes fill up the sender's buffers."""
    cut_after: int | None = None
    """The connection is reset after this many more bytes."""
    hold: bool = False
    """A partition: bytes wait, and arrive when it is over, because TCP would send them again."""
    swallow: bool = False
    """A black hole: bytes are accepted and lost. When it is over, a connection with lost bytes is
    reset, because a stream has no holes.
    """


PASS = NetworkFault()
BLACK_HOLE = NetworkFault(swallow=True)
PARTITION = NetworkFault(hold=True)


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """A socket to one side."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def close(self) -> None:
        """Close normally, with a FIN."""
        self.writer.close()

    def reset(self) -> None:
        """Close as a crashed host does, with an RST."""
        sock = self.writer.get_extra_info("socket")
        with contextlib.suppress(OSError):  # the socket is closed already
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class ProxiedConnection:
    """A connection. A fault may be set at any time and has effect from then on."""

    def __init__(
        self,
        client: ConnectionEnd,
        server: ConnectionEnd,
        faults: Mapping[Direction, NetworkFault],
        counted: Counter[str],
    ) -> None:
        self._faults = dict(faults)
        self.torn = False
        """Whether the connection lost bytes."""
        self._ends = {Side.CLIENT: client, Side.SERVER: server}
        self._deaf = False
        self._changed = asyncio.Event()
        self._counted = counted

    async def run(self) -> None:
        """Pass bytes on until both sides have ended, or a side has failed."""
        tasks = [asyncio.create_task(self._pass(direction)) for direction in Direction]
        try:
            await asyncio.gather(*tasks)
        except (OSError, EOFError):
            self.reset()
        finally:
            for direction in tasks:
                direction.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for end in self._ends.values():
                end.close()

    def set(self, direction: Direction, fault: NetworkFault) -> None:
        """Set a fault from now on."""
        self._faults[direction] = fault
        self._changed.set()
        self._changed = asyncio.Event()

    def reset(self) -> None:
        """Reset the connection towards both sides."""
        for end in self._ends.values():
            end.reset()

    def half_open(self, closed: Side) -> None:
        """Close the connection towards one side. The other side gets no sign of it, and receives no
        more bytes.
        """
        self._deaf = True
        self._ends[closed].close()

    async def _pass(self, direction: Direction) -> None:
        source, sink = self._of(direction)
        line: Line = asyncio.Queue(IN_FLIGHT)
        sending = asyncio.create_task(self._send(line, sink))
        receiving = asyncio.create_task(self._receive(direction, source, line))
        try:
            await asyncio.gather(receiving, sending)
        finally:
            receiving.cancel()
            sending.cancel()
            await asyncio.gather(receiving, sending, return_exceptions=True)

    async def _receive(self, direction: Direction, source: ConnectionEnd, line: Line) -> None:
        counted, passed = self._faults[direction], 0
        while True:
            rate = self._faults[direction].bytes_per_second
            chunk = await source.reader.read(max(1, min(CHUNK, rate // 10)) if rate else CHUNK)
            while (fault := self._faults[direction]).hold:
                await self._changed.wait()
            if fault is not counted:
                counted, passed = fault, 0
            if fault.swallow or self._deaf:
                self._lose(direction, chunk)
                if chunk:
                    continue
                await line.put((0.0, None))  # the other side gets no sign that this side has ended
                return
            if fault.cut_after is not None:
                chunk, cut = chunk[: fault.cut_after - passed], chunk
                passed += len(chunk)
                if len(chunk) < len(cut):
                    await self._cut(line, chunk)
            self._counted[f"bytes_{direction}"] += len(chunk)
            await line.put((asyncio.get_running_loop().time() + fault.latency_seconds, chunk))
            if not chunk:
                return
            if fault.bytes_per_second:
                await asyncio.sleep(len(chunk) / fault.bytes_per_second)

    async def _send(self, line: Line, sink: ConnectionEnd) -> None:
        clock = asyncio.get_running_loop()
        while True:
            due, chunk = await line.get()
            await asyncio.sleep(max(due - clock.time(), 0))
            if chunk:
                sink.writer.write(chunk)
                await sink.writer.drain()
            line.task_done()
            if not chunk:
                if chunk is not None:
                    sink.writer.write_eof()
                return

    async def _cut(self, line: Line, last: bytes) -> None:
        self._counted["cut"] += 1
        if last:
            line.put_nowait((0.0, last))
        await line.join()
        await asyncio.sleep(SETTLE_SECONDS)  # an RST overtakes the kernel's unsent bytes
        raise EOFError("cut off")

    def _lose(self, direction: Direction, chunk: bytes) -> None:
        self.torn = True
        self._counted[f"lost_{direction}"] += len(chunk)

    def _of(self, direction: Direction) -> tuple[ConnectionEnd, ConnectionEnd]:
        client, server = self._ends[Side.CLIENT], self._ends[Side.SERVER]
        return (client, server) if direction is Direction.UP else (server, client)
