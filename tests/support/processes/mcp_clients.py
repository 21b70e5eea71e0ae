"""The SDK's own client of MCP, connected to Fettle over stdio and over HTTP."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
from fastapi import FastAPI
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent
from support.processes.fettle_command import FETTLE, environment

from settings.base import DEVELOPMENT_KEY

COMMAND = (str(FETTLE), "mcp")
MODULE = (sys.executable, "-m", "fettle.mcp")


@contextlib.asynccontextmanager
async def over_stdio(
    url: str, home: Path, key: str = DEVELOPMENT_KEY, program: tuple[str, ...] = COMMAND
) -> AsyncIterator[Client]:
    """A client of a server on this machine. The server's stderr is `home/mcp.log`."""
    env = environment(home, FETTLE_URL=url, FETTLE_API_KEY=key)
    server = StdioServerParameters(command=program[0], args=list(program[1:]), env=env, cwd=home)
    with (home / "mcp.log").open("a") as log:
        async with Client(stdio_client(server, log)) as client:
            yield client


@contextlib.asynccontextmanager
async def over_http(
    url: str,
    headers: dict[str, str] | None = None,
    *,
    mode: Any = "auto",
    app: FastAPI | None = None,
) -> AsyncIterator[Client]:
    """A client of `/mcp`; with `app`, of the application in this process. The default header has
    the development key."""
    transport = httpx2.ASGITransport(app) if app else None
    async with (
        httpx2.AsyncClient(
            headers=headers or {"X-API-Key": DEVELOPMENT_KEY}, timeout=120, transport=transport
        ) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The error of a call that fails."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.content
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    """The texts that a model reads."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def server_pid(program: tuple[str, ...]) -> int:
    """The pid of the server that this process has started by `over_stdio`."""
    children = Path("/proc/self/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    servers = [pid for pid in pids if program[-1] in Path(f"/proc/{pid}/cmdline").read_text()]
    assert len(servers) == 1, servers
    return servers[0]
