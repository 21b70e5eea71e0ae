"""A relay before an engine's socket, as a proxy would stand there: it can hang up on some calls,
and keep some answers back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from support.servers.scripted_engine import Gate


class Relay:
    """Passes connections on. `refused`: how many to `/events` it will hang up on, and `events`: how
    many it has passed on. `orders_cut`: on how many containers' streams it will hang up as soon as
    an order went over them.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._events: set[asyncio.StreamWriter] = set()
        self._gates: dict[bytes, Gate] = {}
        self.refused = self.events = self.orders_cut = 0

    def gate(self, word: bytes) -> Gate:
        """From now on the engine's answers to calls of this word stop here."""
        return self._gates.setdefault(word, Gate(late=True))

    def cut(self) -> None:
        """Hang up on all who listen to events; on nobody else."""
        for writer in self._events:
            writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        head = await reader.readuntil(b"\r\n")
        listens = b"/events" in head
        if listens and self.refused:
            self.refused -= 1
            writer.close()
            return
        self.events += listens
        there, back = await asyncio.open_unix_connection(self._socket)
        back.write(head)
        self._events |= {writer} if listens else set()
        gate = next((gate for word, gate in self._gates.items() if word in head), None)
        ways = [
            asyncio.create_task(way)
            for way in (
                self._orders(reader, back) if b"/attach" in head else pump(reader, back),
                _through(gate, there, writer),
            )
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._events.discard(writer)
            for way in ways:
                way.cancel()
            for end in (writer, back):
                end.close()

    async def _orders(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readuntil(b"\r\n\r\n"))
        writer.write(await reader.read(1 << 16))
        await writer.drain()
        if self.orders_cut:
            self.orders_cut -= 1
            return
        await pump(reader, writer)


async def _through(
    gate: Gate | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if gate is not None:
        first = await reader.read(1 << 16)
        gate.reached.set()
        await gate.opened.wait()
        writer.write(first)
    await pump(reader, writer)


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until one side has gone."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass


@asynccontextmanager
async def relayed(engine: str, place: Path) -> AsyncIterator[tuple[Relay, str]]:
    """A relay before the engine at this address (`unix://...`), and its own address."""
    relay = Relay(engine.removeprefix("unix://"))
    async with await asyncio.start_unix_server(relay.serve, place):
        yield relay, f"unix://{place}"
