"""MCP servers: a program that uses only the standard library, and servers of the official SDK."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Image
from mcp.server.mcpserver.exceptions import ToolError
from support.servers.web_server import listening

PLAIN_SERVER = """
import json, os, socket, sys, time

TOOLS = [
    {"name": name, "description": f"The tool {name}.", "inputSchema": {
        "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
    for name in ("search", "hang", "network", "files", "die", "secret")
]


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(name, text):
    if name == "hang":
        time.sleep(60)
    if name == "die":
        print("Traceback: a fault", file=sys.stderr)
        os._exit(3)
    if name == "network":
        try:
            socket.create_connection(("1.1.1.1", 443), timeout=2)
        except OSError as error:
            return f"no network: {type(error).__name__}"
        return "connected"
    if name == "files":
        return f"{sorted(os.listdir('.'))} {sorted(os.environ)}"
    return open("notes.txt").read() + text


print("garbage before the first message", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        send(id=message["id"], result={"protocolVersion": params["protocolVersion"],
             "capabilities": {"tools": {}}, "serverInfo": {"name": "plain", "version": "1"}})
    elif method == "tools/list":
        start = int(params.get("cursor", 0))
        more = {"nextCursor": str(start + 2)} if start + 2 < len(TOOLS) else {}
        send(id=message["id"], result={"tools": TOOLS[start : start + 2], **more})
    elif method == "tools/call":
        send(id="q", method="sampling/createMessage", params={})
        assert "error" in json.loads(sys.stdin.readline())
        print("{", "more garbage", flush=True)
        text = answer(params["name"], params["arguments"]["text"])
        send(id=message["id"], result={"content": [{"type": "text", "text": text}]})
"""
"""A server over standard input and output. It pages its list, prints garbage, and asks its client
for a model's reply."""

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""A PNG file."""


@dataclass
class Received:
    """The calls that the server of the SDK received, and the credentials of its requests."""

    url: str = ""
    calls: list[str] = field(default_factory=list)
    credentials: set[str | None] = field(default_factory=set)
    sessions_ended: int = 0


def sdk_server(received: Received) -> MCPServer:
    """A server with the tools `count`, `chart`, `wrong`, `long`, `echo` and `sleep`."""
    server = MCPServer("tickets")

    @server.tool()
    def count(text: str, times: int = 1) -> str:
        """Count a call."""
        received.calls.append(text)
        return f"{text * times} {len(received.calls)}"

    @server.tool()
    def chart() -> list[Image | str]:
        """Draw a chart."""
        return ["a chart", Image(data=PIXEL, format="png")]

    @server.tool()
    def wrong() -> str:
        """Fail."""
        raise ToolError("there is no such ticket")

    @server.tool()
    def long() -> str:
        """Say much."""
        return "x" * 400_000

    @server.tool()
    def huge() -> str:
        """Say too much."""
        return "x" * 3_000_000

    @server.tool()
    def echo() -> str:
        """Repeat the credentials."""
        return f"you sent {received.credentials}"

    @server.tool()
    async def sleep() -> str:
        """Sleep for a minute."""
        await asyncio.sleep(60)
        return "late"

    return server


@contextlib.contextmanager
def sdk_http_server(*, json_response: bool = False) -> Iterator[Received]:
    """The server of the SDK on loopback, until the block ends."""
    received = Received()
    app = sdk_server(received).streamable_http_app(json_response=json_response)

    async def watched(scope, receive, send) -> None:  # type: ignore[no-untyped-def]
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            received.credentials.add(headers.get(b"authorization", b"").decode() or None)
            received.sessions_ended += scope["method"] == "DELETE"
        await app(scope, receive, send)

    config = uvicorn.Config(watched, port=0, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.01)
            assert thread.is_alive(), "the server did not start"
        port = server.servers[0].sockets[0].getsockname()[1]
        received.url = f"http://127.0.0.1:{port}/mcp"
        yield received
    finally:
        server.should_exit = True
        thread.join()


@contextlib.contextmanager
def scripted_server(**results: str) -> Iterator[str]:
    """A server with these results, by method in snake case, as they are written. A method without
    a result is redirected. It does not answer the end of a session. Yields its URL."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            result = results.get(message["method"].replace("/", "_"))
            self.send_response(307 if result is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Mcp-Session-Id", "session")
            self.send_header("Location", results.get("location", "/"))
            self.end_headers()
            self.wfile.write(f'{{"id": {message.get("id", 0)}, "result": {result}}}'.encode())

        def do_DELETE(self) -> None:
            ended.wait(20)

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    results = {"initialize": "{}", "notifications_initialized": "{}", **results}
    with listening(Handler) as port:
        try:
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            ended.set()


def plain_folder(folder: Path) -> Path:
    """A folder with the plain server and a file that it reads."""
    folder.mkdir()
    (folder / "server.py").write_text(PLAIN_SERVER)
    (folder / "notes.txt").write_text("notes of the operator; ")
    return folder
