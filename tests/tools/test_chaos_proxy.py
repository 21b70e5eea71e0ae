"""The proxy's faults, each seen from both ends of a connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

import pytest

from drills.chaos.faults.tcp_proxy import BLACK_HOLE, PARTITION, Proxy, Side

SOON = 20.0
QUIET = 0.15
"""Long enough to say that nothing comes."""


@dataclass
class Echo:
    """A server that sends back what it gets, in capitals; `ended` is how its connections ended."""

    name: str = ""
    got: bytearray = field(default_factory=bytearray)
    ended: list[str] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        how = "closed"
        try:
            while chunk := await reader.read(65_536):
                self.got += chunk
                writer.write(self.name.encode() + chunk.upper())
                await writer.drain()
        except OSError:
            how = "reset"
        finally:
            self.ended.append(how)
            writer.close()


@contextlib.asynccontextmanager
async def served(name: str = "") -> AsyncIterator[tuple[Echo, int]]:
    echo = Echo(name)
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    try:
        yield echo, server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.fixture
async def echo() -> AsyncIterator[tuple[Echo, Proxy]]:
    async with served() as (server, port):
        with Proxy("127.0.0.1", port) as proxy:
            yield server, proxy


class Client:
    """A connection through the proxy."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def ask(self, said: bytes) -> bytes:
        """What is sent back within `SOON`; empty at the end of the connection."""
        if said:
            self.writer.write(said)
        async with asyncio.timeout(SOON):
            return await self.reader.read(65_536)

    async def hears_nothing(self) -> bool:
        try:
            async with asyncio.timeout(QUIET):
                await self.reader.read(1)
        except TimeoutError:
            return True
        return False


async def connect(proxy: Proxy) -> Client:
    return Client(*await asyncio.open_connection("127.0.0.1", proxy.port))


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(SOON):
        while not holds():
            await asyncio.sleep(0.01)


async def test_bytes_and_ends_are_passed_on_both_ways(echo):
    server, proxy = echo
    client = await connect(proxy)
    assert await client.ask(b"hello") == b"HELLO"
    assert proxy.counters()["accepted"] == 1
    client.writer.write_eof()
    assert await client.ask(b"") == b""
    client.writer.close()
    await until(lambda: server.ended == ["closed"] and proxy.counters()["ended"] == 1)
    counters = proxy.counters()
    assert (counters["accepted"], counters["bytes_up"], counters["bytes_down"]) == (1, 5, 5)


async def test_a_black_hole_takes_everything_and_its_connections_are_reset_when_it_is_over(echo):
    server, proxy = echo
    client = await connect(proxy)
    assert await client.ask(b"a") == b"A"
    proxy.set(BLACK_HOLE)
    client.writer.write(b"lost")
    assert await client.hears_nothing()
    assert bytes(server.got) == b"a"
    assert proxy.counters()["lost_up"] == 4
    proxy.heal()
    with pytest.raises(ConnectionResetError):
        await client.ask(b"again")
    assert await (await connect(proxy)).ask(b"c") == b"C"


async def test_a_partition_delivers_late(echo):
    server, proxy = echo
    client = await connect(proxy)
    proxy.set(PARTITION)
    client.writer.write(b"late")
    assert await client.hears_nothing()
    assert bytes(server.got) == b""
    proxy.heal()
    assert await client.ask(b"") == b"LATE"


@pytest.mark.parametrize("closed", list(Side))
async def test_half_open_one_side_ends_and_the_other_gets_no_sign(echo, closed):
    server, proxy = echo
    client = await connect(proxy)
    assert await client.ask(b"a") == b"A"
    proxy.half_open(closed)
    if closed is Side.SERVER:
        await until(lambda: server.ended == ["closed"])
        client.writer.write(b"anyone?")
        assert await client.hears_nothing()
        client.writer.close()
        await until(lambda: proxy.counters()["ended"] == 1)
    else:
        assert await client.ask(b"") == b""
        await asyncio.sleep(QUIET)
        assert server.ended == []
    assert proxy.counters()["half_open"] == 1
