"""The tools of the operator's MCP servers. A server with a command runs in a sandbox of its own,
once for each request.

See ADR 102.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import structlog

from agents.errors import ToolRefused
from agents.ports.tool_servers import ServerTool
from agents.sandbox_programs import ARGV, source
from agents.texts import bounded, fix_surrogates, one_line
from sandbox.protocol import Command, End, Limits, Sandbox, SandboxUnavailable
from settings.reading.tool_servers import ToolServer
from worker.adapters.tool_schemas import portable
from worker.adapters.tools import ToolUnfit
from worker.egress.mcp import MAX_ANSWER_BYTES, PROTOCOL, HttpServer

LIST_SECONDS = 10.0
"""The longest time to list the tools of a server: the first jobs of a worker wait for it."""
AGAIN_SECONDS = 60.0
"""The time until a server that did not list its tools is asked again."""
DESCRIPTION_CHARACTERS = 1_000
REASON_CHARACTERS = 1_000
STDERR_CHARACTERS = 500
LEVELS = 50
"""The depth of an answer: a client of a model writes schemas by recursion."""

log = structlog.get_logger("worker.adapters.tool_servers")


class Exchange(Protocol):
    """The connection to a server."""

    async def exchange(
        self, method: str, params: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any]:
        """The result of a request, with the pages of a list joined. Raises ToolRefused with a
        predicate (`took longer than 5 s`), and SandboxUnavailable."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxedServer:
    """A server that runs in a new sandbox for each request, without network."""

    command: Sequence[str]
    sandbox: Sandbox
    limits: Limits
    files: Mapping[str, bytes] = field(default_factory=dict)
    """The files of its working directory."""
    executable: Mapping[str, bool] = field(default_factory=dict)
    """Whether each of the files can be executed."""

    async def exchange(
        self, method: str, params: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any]:
        """See Exchange."""
        order = {
            "command": self.command,
            "method": method,
            "params": params,
            "protocol": PROTOCOL,
            "bytes": MAX_ANSWER_BYTES,
        }
        command = Command(
            (*ARGV, "-c", source("mcp_client")),
            files=self.files,
            stdin=json.dumps(order).encode(),
            executable=self.executable,
            collect=False,
        )
        limits = replace(
            self.limits,
            wall_seconds=seconds,
            cpu_seconds=max(self.limits.cpu_seconds, math.ceil(seconds)),
            output_bytes=2 * MAX_ANSWER_BYTES,
        )
        result = await self.sandbox.run(command, limits)
        if result.end is End.KILLED:
            raise SandboxUnavailable("the sandbox of a tool server was killed from outside")
        if result.end is End.TIMEOUT:
            raise ToolRefused(f"took longer than {seconds:g} s")
        try:  # the server can write into the output of its client
            answer = dict(json.loads(result.stdout.text))
        except (ValueError, TypeError, RecursionError):
            answer = {}
        if isinstance(answer.get("result"), dict):
            return answer["result"]  # type: ignore[no-any-return]
        reason = answer.get("fault") or f"gave no answer ({result.end.value})"
        errors = one_line(result.stderr.text[-STDERR_CHARACTERS:], STDERR_CHARACTERS)
        raise ToolRefused(f"{reason}: {errors}" if errors else reason)


class McpServers:
    """Implements `agents.ports.tool_servers.ToolServers`. All attempts of a process share it."""

    def __init__(self, servers: Sequence[tuple[ToolServer, Exchange]]) -> None:
        self._servers = servers
        self._routes = {
            name: (server, exchange, tool)
            for server, exchange in servers
            for name, tool in server.tools_by_name.items()
        }
        self._tools: dict[str, Mapping[str, ServerTool]] = {}
        """The tools of each server that has listed them, by name."""
        self._faults: dict[str, str | None] = {
            server.name: "has not answered yet" for server, _ in servers
        }
        self._tried = asyncio.Event()
        if not servers:
            self._tried.set()

    @property
    def names(self) -> Sequence[str]:
        """See ToolServers."""
        return list(self._routes)

    @property
    def tools(self) -> Mapping[str, ServerTool]:
        """See ToolServers."""
        return {
            name: tool
            for server, _ in self._servers
            for name, tool in self._tools.get(server.name, {}).items()
        }

    def facts(self) -> Mapping[str, str | None]:
        """The fault of each server; None: it has listed all tools that the settings allow."""
        return dict(self._faults)

    async def wait(self) -> None:
        """Return when each server was asked for its tools once."""
        await self._tried.wait()

    async def list_forever(self) -> None:
        """Ask each server for its tools, until all have listed them. Later changes of a list do not
        count."""
        while unlisted := [row for row in self._servers if row[0].name not in self._tools]:
            await asyncio.gather(*(self._list(*row) for row in unlisted))
            self._tried.set()
            await asyncio.sleep(AGAIN_SECONDS)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """See ToolServers."""
        if name not in self._routes:
            raise ToolRefused(f"there is no tool {name}")
        server, exchange, tool = self._routes[name]
        params = {"name": tool, "arguments": arguments}
        return await _exchange(server, exchange, "tools/call", params, server.seconds)

    async def _list(self, server: ToolServer, exchange: Exchange) -> None:
        seconds = min(LIST_SECONDS, server.seconds)
        try:
            result = await _exchange(server, exchange, "tools/list", {}, seconds)
            self._tools[server.name], fault = _read_tools(server, result)
        except (ToolRefused, SandboxUnavailable) as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001 - the list of a server may be of any form
            reason = bounded(repr(error), REASON_CHARACTERS)
            fault = f"its list of tools cannot be read: {reason}"
        if fault and fault != self._faults[server.name]:
            log.warning("tools of a server are left out", server=server.name, why=fault)
        self._faults[server.name] = fault or None


async def _exchange(
    server: ToolServer,
    exchange: Exchange,
    method: str,
    params: Mapping[str, Any],
    seconds: float,
) -> Mapping[str, Any]:
    """The result, which can be written as JSON. Raises ToolRefused and SandboxUnavailable."""
    try:
        result = await exchange.exchange(method, params, seconds)
    except ToolRefused as error:
        reason = fix_surrogates(bounded(str(error), REASON_CHARACTERS))
        raise ToolRefused(f"the server {server.name} {reason}") from None
    level: list[Any] = [result]
    for _ in range(LEVELS):
        level = [item for value in level for item in _items(value)]
    if level:
        raise ToolRefused(f"the server {server.name} sent JSON of more than {LEVELS} levels")
    return fix_surrogates(result)  # type: ignore[no-any-return]


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _read_tools(
    server: ToolServer, result: Mapping[str, Any]
) -> tuple[Mapping[str, ServerTool], str]:
    """The allowed tools of a list by name, and the faults of the others."""
    rows = {row["name"]: row for row in result["tools"]}
    tools: dict[str, ServerTool] = {}
    faults = []
    for name, tool in server.tools_by_name.items():
        if tool not in rows:
            offered = bounded(", ".join(map(str, rows)), REASON_CHARACTERS)
            faults.append(f"the server has no tool {tool!r}; it has: {offered or 'none'}")
            continue
        try:
            schema = portable(rows[tool]["inputSchema"])
        except ValueError as error:
            faults.append(f"the schema of {tool!r} {error}")
            continue
        description = bounded(str(rows[tool].get("description") or tool), DESCRIPTION_CHARACTERS)
        tools[name] = ServerTool(name, description, schema)
    return tools, "; ".join(faults)


def open_servers(servers: Sequence[ToolServer], sandbox: Sandbox, limits: Limits) -> McpServers:
    """The servers of the settings. Raises ToolUnfit."""
    return McpServers([(server, _open_server(server, sandbox, limits)) for server in servers])


def _open_server(server: ToolServer, sandbox: Sandbox, limits: Limits) -> Exchange:
    try:
        if server.url is not None:
            if server.token_file is not None:
                server.token_file.read_bytes()
            return HttpServer(server.url, server.token_file)
        paths = _files_of(server.folder) if server.folder is not None else {}
        size = sum(path.stat().st_size for path in paths.values())
        if size > limits.workspace_bytes or len(paths) > limits.workspace_files:
            raise ToolUnfit(
                f"FETTLE_MCP_SERVERS: {server.name}: the folder {server.folder} has {len(paths)} "
                f"files of {size} bytes; at most {limits.workspace_files} files of "
                f"{limits.workspace_bytes} bytes are sent to a sandbox: name a smaller folder"
            )
        files = {name: path.read_bytes() for name, path in paths.items()}
        executable = {name: os.access(path, os.X_OK) for name, path in paths.items()}
        return SandboxedServer(server.command, sandbox, limits, files, executable)
    except OSError as error:
        raise ToolUnfit(
            f"FETTLE_MCP_SERVERS: {server.name}: {error.filename} cannot be read "
            f"({error.strerror}): correct the path, or let the worker's user read it"
        ) from None


def _files_of(folder: Path) -> dict[str, Path]:
    """The files in a folder, by their names in it. Raises OSError if the folder does not exist."""
    os.listdir(folder)  # noqa: PTH208 - raises, as rglob does not
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}
