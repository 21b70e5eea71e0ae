"""Many concurrent calls: connections are opened as needed, used again, and closed when idle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from agents.models.streams import OPENAI
from agents.models.transport.connection import connect
from agents.models.transport.sharded import WIDTH

BODY = b'{"choices": [{"message": {"content": "yes"}}]}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 46\r\n\r\n" + BODY


class Server:
    """Answers requests when asked; counts connections."""

    def __init__(self) -> None:
        self.opened = 0
        self.open = 0
        self.waiting = 0
        self.go_on = asyncio.Event()
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self.open += 1
        try:
            while (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET"):
                self.waiting += 1
                await self.go_on.wait()
                self.waiting -= 1
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.open -= 1
        finally:
            writer.close()

    async def until_waiting(self, count: int) -> None:
        async with asyncio.timeout(10):
            while self.waiting < count:
                await asyncio.sleep(0.005)


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    running = Server()
    listening = await asyncio.start_server(running.serve, "127.0.0.1", 0, backlog=512)
    running.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/"
    yield running
    running.go_on.set()
    listening.close()


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with connect(httpx.create_ssl_context(), OPENAI) as provider_client:
        yield provider_client


async def send_many(client: httpx.AsyncClient, server: Server, count: int) -> None:
    """Send this number of requests, all at the same time."""
    server.go_on.clear()
    responses = [asyncio.create_task(client.get(server.url)) for _ in range(count)]
    await server.until_waiting(count)
    server.go_on.set()
    assert {(await response).status_code for response in responses} == {200}


async def test_no_request_waits_for_a_connection_and_connections_are_reused(
    server: Server, client: httpx.AsyncClient
) -> None:
    await send_many(client, server, 10 * WIDTH)
    assert server.opened == 10 * WIDTH
    await send_many(client, server, 10 * WIDTH)
    assert server.opened == 10 * WIDTH


async def test_a_proxy_of_the_environment_is_used(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.go_on.set()
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("ALL_PROXY", server.url)
    async with connect(httpx.create_ssl_context(), OPENAI) as client:
        answer = await client.get("http://nowhere.invalid/")
    assert (answer.status_code, server.opened) == (200, 1)
