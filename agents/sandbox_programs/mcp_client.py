"""Starts an MCP server and sends it one request over its standard input and output.

Input: {command, method, params, protocol, bytes} as JSON. Output: {result} or {fault} as JSON, at
most `bytes` long. The pages of a list of tools are joined. It runs in a sandbox, with the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count
from typing import Any

METHOD_NOT_FOUND = -32601


class Fault(Exception):
    """The server gave no answer. The text is a predicate."""


class Server:
    """The process of a server."""

    def __init__(self, command: list[str], most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._ids = count(1)
        try:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise Fault(f"could not be started: {error.strerror}") from None
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: S101, PT018
        self._stdin, self._stdout = self._process.stdin, self._process.stdout

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a request. Lines that are no answer to it are ignored."""
        number = next(self._ids)
        self.send({"id": number, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message:
                self._answer(message)
            elif message.get("id") == number:
                break
        if isinstance(result := message.get("result"), dict):
            return result
        error = message.get("error")
        reason = error.get("message") if isinstance(error, dict) else "an answer without a result"
        raise Fault(f"refused {method}: {reason}")

    def send(self, message: dict[str, Any]) -> None:
        """Send a message."""
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        try:
            self._stdin.write(line.encode(errors="replace") + b"\n")
            self._stdin.flush()
        except OSError:
            raise self._end_fault() from None

    def _answer(self, message: dict[str, Any]) -> None:
        """Answer a request of the server: only a ping has a result."""
        if "id" in message:
            error = {"code": METHOD_NOT_FOUND, "message": "this client has no such method"}
            outcome = {"result": {}} if message["method"] == "ping" else {"error": error}
            self.send({"id": message["id"], **outcome})

    def _read(self) -> dict[str, Any]:
        """The next message. A server may print other lines."""
        while True:
            line = self._stdout.readline(self._most_bytes)
            if not line:
                raise self._end_fault()
            if len(line) == self._most_bytes:
                raise Fault(f"sent more than {self._most_bytes} bytes")
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(message, dict):
                return message

    def _end_fault(self) -> Fault:
        return Fault(f"ended before it answered (exit code {self._process.wait()})")


def exchange(order: dict[str, Any]) -> dict[str, Any]:
    """The result of the request of `order`."""
    server = Server(order["command"], order["bytes"])
    client = {"name": "fettle", "version": "1"}
    hello = {"protocolVersion": order["protocol"], "capabilities": {}, "clientInfo": client}
    server.request("initialize", hello)
    server.send({"method": "notifications/initialized"})
    result = server.request(order["method"], order["params"])
    page = result
    while order["method"] == "tools/list" and page.get("nextCursor"):
        page = server.request(order["method"], {"cursor": page["nextCursor"]})
        result["tools"] += page["tools"]
        if len(json.dumps(result)) > order["bytes"]:
            break
    return result


if __name__ == "__main__":
    order = json.load(sys.stdin)
    answer: dict[str, Any]
    try:
        answer = {"result": exchange(order)}
    except Fault as fault:
        answer = {"fault": str(fault)}
    output = json.dumps(answer, ensure_ascii=False).encode(errors="replace")
    if len(output) > order["bytes"]:
        output = json.dumps({"fault": f"sent more than {order['bytes']} bytes"}).encode()
    sys.stdout.buffer.write(output)
