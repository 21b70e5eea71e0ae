"""HTTP/1.1 requests to an engine, as far as its API needs it: one request for each connection, with
JSON in both directions.

The engine is trusted, but it may be slow or end at any time: every wait and every size has a limit.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.docker.connection import EngineAddress, EngineConnection, connect

MAX_BODY_BYTES = 16 * 1024 * 1024
_MAX_HEAD_LINES = 100
_CONNECTION_ERRORS = (OSError, EOFError, ValueError)
"""The connection was refused, timed out or was cut (OSError), ended early, or was not HTTP."""


class NoAnswer(Exception):
    """There was no complete response: no engine, a timeout, or a response that is not HTTP."""


class RequestRefused(Exception):
    """The engine sent a complete response, but not the requested stream."""

    def __init__(self, response: EngineResponse) -> None:
        super().__init__(response.message)
        self.response = response


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """A response's status and header fields."""

    status: int
    fields: Mapping[str, str]
    """The header fields, by their names in lower case."""


@dataclass(frozen=True, slots=True)
class EngineResponse:
    """A complete response."""

    status: int
    fields: Mapping[str, str]
    body: Any
    """Decoded JSON, or the text if it is not JSON."""

    @property
    def message(self) -> str:
        """The engine's error text."""
        text = self.body.get("message", "") if isinstance(self.body, dict) else self.body
        return str(text).strip()[:600]


async def request(
    address: EngineAddress, method: str, path: str, body: object = None, *, seconds: float
) -> EngineResponse:
    """One request and its complete response within `seconds`. Raises NoAnswer."""
    connection = None
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address)
            head = await _send(connection, method, path, body, {"Connection": "close"})
            return await _read_response(connection, head)
    except _CONNECTION_ERRORS as error:
        raise _no_answer(address, error) from error
    finally:
        if connection is not None:
            connection.close()


async def upload(
    address: EngineAddress, path: str, parts: AsyncIterator[bytes], *, seconds: float
) -> EngineResponse:
    """Send a tar archive by PUT in `parts`; returns the complete response. All of it has to end
    within `seconds`. Raises NoAnswer.
    """
    connection = None
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address)
            lines = [f"PUT {path} HTTP/1.1", "Host: docker", "Content-Type: application/x-tar"]
            lines += ["Transfer-Encoding: chunked", "Connection: close", "", ""]
            connection.writer.write("\r\n".join(lines).encode("ascii"))
            async for part in parts:
                connection.writer.write(b"%x\r\n%b\r\n" % (len(part), part))
                await connection.writer.drain()
            connection.writer.write(b"0\r\n\r\n")
            await connection.writer.drain()
            return await _read_response(connection, await _read_head(connection.reader))
    except _CONNECTION_ERRORS as error:
        raise _no_answer(address, error) from error
    finally:
        if connection is not None:
            connection.close()


async def hijack(
    address: EngineAddress, path: str, body: object = None, *, seconds: float
) -> EngineConnection:
    """Open a connection that carries the streams of a program. Raises NoAnswer, RequestRefused."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "tcp"}
    connection, _ = await _open_stream(address, "POST", path, upgrade, {101, 200}, seconds, body)
    return connection


async def follow(address: EngineAddress, path: str, *, seconds: float) -> EventStream:
    """Open a response without an end, with JSON on each line. It has to begin within `seconds`.
    Raises NoAnswer, RequestRefused.
    """
    fields = {"Connection": "close"}
    return EventStream(*await _open_stream(address, "GET", path, fields, {200}, seconds))


class EventStream:
    """The JSON values of a response without an end. Iterate it once; `close` ends the iteration."""

    def __init__(self, connection: EngineConnection, head: ResponseHead) -> None:
        self._connection, self._head = connection, head

    @property
    def fields(self) -> Mapping[str, str]:
        """The response's header fields."""
        return self._head.fields

    async def __aiter__(self) -> AsyncIterator[Any]:
        incomplete_line = b""
        try:
            async for data in _read_body(self._connection.reader, self._head):
                *lines, incomplete_line = (incomplete_line + data).split(b"\n")
                for line in filter(bytes.strip, lines):
                    yield json.loads(line)
                if len(incomplete_line) > MAX_BODY_BYTES:
                    return
        except _CONNECTION_ERRORS:
            return

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


async def _open_stream(
    address: EngineAddress,
    method: str,
    path: str,
    fields: Mapping[str, str],
    expected_statuses: set[int],
    seconds: float,
    body: object = None,
) -> tuple[EngineConnection, ResponseHead]:
    """Send a request; returns the open connection if the status is an expected one."""
    connection = None
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address)
            head = await _send(connection, method, path, body, fields)
            if head.status not in expected_statuses:
                raise RequestRefused(await _read_response(connection, head))
    except _CONNECTION_ERRORS as error:
        raise _no_answer(address, error) from error
    else:
        opened, connection = connection, None
        return opened, head
    finally:
        if connection is not None:
            connection.close()


def _no_answer(address: EngineAddress, error: Exception) -> NoAnswer:
    return NoAnswer(f"{address}: {str(error) or type(error).__name__}")


async def _send(
    connection: EngineConnection, method: str, path: str, body: object, fields: Mapping[str, str]
) -> ResponseHead:
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: docker", f"Content-Length: {len(data)}"]
    lines += ["Content-Type: application/json"] if data else []
    lines += [f"{name}: {value}" for name, value in fields.items()]
    connection.writer.write("\r\n".join((*lines, "", "")).encode("ascii") + data)
    await connection.writer.drain()
    return await _read_head(connection.reader)


async def _read_head(reader: asyncio.StreamReader) -> ResponseHead:
    version, _, status_text = (await _read_line(reader)).partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the response is not HTTP")
    fields: dict[str, str] = {}
    for _ in range(_MAX_HEAD_LINES):
        line = await _read_line(reader)
        if not line:
            return ResponseHead(int(status_text[:3]), fields)
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    raise ValueError("the response has too many header lines")


async def _read_line(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the engine closed the connection")
    return line.decode("latin-1").rstrip("\r\n")


async def _read_response(connection: EngineConnection, head: ResponseHead) -> EngineResponse:
    data = bytearray()
    async for part in _read_body(connection.reader, head):
        data += part
        if len(data) > MAX_BODY_BYTES:
            raise ValueError(f"a response of more than {MAX_BODY_BYTES} bytes")
    return EngineResponse(head.status, head.fields, _decode_body(bytes(data)))


async def _read_body(reader: asyncio.StreamReader, head: ResponseHead) -> AsyncIterator[bytes]:
    """Read the body in parts: chunked, of a known length, or up to the end of the connection."""
    if head.status in {204, 304}:
        return
    if "chunked" in head.fields.get("transfer-encoding", ""):
        while size := int((await _read_line(reader)).partition(";")[0], 16):
            if size > MAX_BODY_BYTES:
                raise ValueError(f"a chunk of {size} bytes")
            yield await reader.readexactly(size)
            await _read_line(reader)
    elif "content-length" in head.fields:
        size = int(head.fields["content-length"])
        if size > MAX_BODY_BYTES:
            raise ValueError(f"a response of {size} bytes")
        yield await reader.readexactly(size)
    else:
        while part := await reader.read(1 << 16):
            yield part


def _decode_body(data: bytes) -> Any:
    try:
        return json.loads(data) if data.strip() else None
    except ValueError:
        return data.decode(errors="replace")
