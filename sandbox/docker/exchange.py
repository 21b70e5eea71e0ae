"""The little of HTTP/1.1 that an engine's API needs: one request a connection, JSON both ways.

The engine is trusted, but not to be quick or whole: every wait and every size has a bound.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.docker.address import Address, Connection, connect

BODY_BYTES = 16 * 1024 * 1024
_HEAD_LINES = 100
_FAULTS = (OSError, EOFError, ValueError)
"""Of a connection: refused, timed out or cut (OSError), ended early, not HTTP."""


class NoAnswer(Exception):
    """There was no whole answer: nobody there, a timeout, or an answer that is not HTTP."""


class Refused(Exception):
    """There was a whole answer, but not the stream that was asked for."""

    def __init__(self, response: Response) -> None:
        super().__init__(response.message)
        self.response = response


@dataclass(frozen=True, slots=True)
class Head:
    """A response's status and header fields (names in lower case)."""

    status: int
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Response:
    """A whole response. `body` is decoded JSON, or text where it is not."""

    status: int
    fields: Mapping[str, str]
    body: Any

    @property
    def message(self) -> str:
        """What the engine says of an error."""
        text = self.body.get("message", "") if isinstance(self.body, dict) else self.body
        return str(text).strip()[:600]


async def ask(
    address: Address, method: str, path: str, body: object = None, *, seconds: float
) -> Response:
    """One request and its whole response within `seconds`. Raises NoAnswer."""
    connection = None
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address)
            head = await _send(connection, method, path, body, {"Connection": "close"})
            return await _whole(connection, head)
    except _FAULTS as error:
        raise _no_answer(address, error) from error
    finally:
        if connection is not None:
            connection.close()


async def upload(
    address: Address, path: str, parts: AsyncIterator[bytes], *, seconds: float
) -> Response:
    """A tar archive, sent by PUT in `parts`, and the whole response to it, within `seconds`. Raises
    NoAnswer.
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
            return await _whole(connection, await _head(connection.reader))
    except _FAULTS as error:
        raise _no_answer(address, error) from error
    finally:
        if connection is not None:
            connection.close()


async def hijack(address: Address, path: str, body: object = None, *, seconds: float) -> Connection:
    """A connection that is a program's streams from here on. Raises NoAnswer, Refused."""
    upgrade = {"Connection": "Upgrade", "Upgrade": "tcp"}
    connection, _ = await _begin(address, "POST", path, upgrade, {101, 200}, seconds, body)
    return connection


async def follow(address: Address, path: str, *, seconds: float) -> EventStream:
    """A response that goes on, as JSON a line; `seconds` are for its beginning. Raises NoAnswer,
    Refused.
    """
    closing = {"Connection": "close"}
    return EventStream(*await _begin(address, "GET", path, closing, {200}, seconds))


class EventStream:
    """JSON values of a response without an end. Iterate it once; `close` ends the iteration."""

    def __init__(self, connection: Connection, head: Head) -> None:
        self._connection, self._head = connection, head

    @property
    def fields(self) -> Mapping[str, str]:
        """The response's header fields."""
        return self._head.fields

    async def __aiter__(self) -> AsyncIterator[Any]:
        rest = b""
        try:
            async for data in _parts(self._connection.reader, self._head):
                *whole, rest = (rest + data).split(b"\n")
                for line in filter(bytes.strip, whole):
                    yield json.loads(line)
                if len(rest) > BODY_BYTES:
                    return
        except _FAULTS:
            return

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


async def _begin(
    address: Address,
    method: str,
    path: str,
    fields: Mapping[str, str],
    wanted: set[int],
    seconds: float,
    body: object = None,
) -> tuple[Connection, Head]:
    """A connection on which a request was answered with one of the `wanted` statuses."""
    connection = None
    try:
        async with asyncio.timeout(seconds):
            connection = await connect(address)
            head = await _send(connection, method, path, body, fields)
            if head.status not in wanted:
                raise Refused(await _whole(connection, head))
    except _FAULTS as error:
        raise _no_answer(address, error) from error
    else:
        kept, connection = connection, None
        return kept, head
    finally:
        if connection is not None:
            connection.close()


def _no_answer(address: Address, error: Exception) -> NoAnswer:
    return NoAnswer(f"{address}: {str(error) or type(error).__name__}")


async def _send(
    connection: Connection, method: str, path: str, body: object, fields: Mapping[str, str]
) -> Head:
    data = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: docker", f"Content-Length: {len(data)}"]
    lines += ["Content-Type: application/json"] if data else []
    lines += [f"{name}: {value}" for name, value in fields.items()]
    connection.writer.write("\r\n".join((*lines, "", "")).encode("ascii") + data)
    await connection.writer.drain()
    return await _head(connection.reader)


async def _head(reader: asyncio.StreamReader) -> Head:
    version, _, rest = (await _line(reader)).partition(" ")
    if not version.startswith("HTTP/1."):
        raise ValueError("the answer is not HTTP")
    fields: dict[str, str] = {}
    for _ in range(_HEAD_LINES):
        line = await _line(reader)
        if not line:
            return Head(int(rest[:3]), fields)
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    raise ValueError("the answer's head has no end")


async def _line(reader: asyncio.StreamReader) -> str:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the engine hung up")
    return line.decode("latin-1").rstrip("\r\n")


async def _whole(connection: Connection, head: Head) -> Response:
    data = bytearray()
    async for part in _parts(connection.reader, head):
        data += part
        if len(data) > BODY_BYTES:
            raise ValueError(f"an answer of more than {BODY_BYTES} bytes")
    return Response(head.status, head.fields, _decoded(bytes(data)))


async def _parts(reader: asyncio.StreamReader, head: Head) -> AsyncIterator[bytes]:
    """The body as it comes: chunked, of a known length, or up to the end of the connection."""
    if head.status in {204, 304}:
        return
    if "chunked" in head.fields.get("transfer-encoding", ""):
        while size := int((await _line(reader)).partition(";")[0], 16):
            if size > BODY_BYTES:
                raise ValueError(f"a chunk of {size} bytes")
            yield await reader.readexactly(size)
            await _line(reader)
    elif "content-length" in head.fields:
        size = int(head.fields["content-length"])
        if size > BODY_BYTES:
            raise ValueError(f"an answer of {size} bytes")
        yield await reader.readexactly(size)
    else:
        while part := await reader.read(1 << 16):
            yield part


def _decoded(data: bytes) -> Any:
    try:
        return json.loads(data) if data.strip() else None
    except ValueError:
        return data.decode(errors="replace")
