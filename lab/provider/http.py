"""The part of HTTP/1.1 that the providers' clients use, with faults.

A web framework cannot break a connection between two bytes, or send a body that is shorter than its
length. Only bodies with a Content-Length are read, as the clients send them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD_BYTES = 64 * 1024
_STATUSES = frozenset(HTTPStatus)


@dataclass(frozen=True, slots=True)
class Incoming:
    """One request. Header names are in lower case; `target` includes the query."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


async def read(reader: asyncio.StreamReader) -> Incoming | None:
    """The next request of a connection; None when the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *header_lines = head.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in header_lines if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Incoming(method, target, headers, body)


async def send(
    writer: asyncio.StreamWriter,
    status: int,
    body: bytes,
    *,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
    cut: bool = False,
) -> None:
    """Send a complete response; with `cut`, its head and half of its body."""
    head = {
        "content-type": content_type,
        "content-length": str(len(body)),
        **(headers or {}),
    }
    sent = body[: len(body) // 2] if cut else body
    writer.write(_head(status, head) + sent)
    await writer.drain()


async def send_pieces(
    writer: asyncio.StreamWriter,
    pieces: Iterable[bytes | float],
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    ends: bool = True,
) -> None:
    """Send a stream, one chunk for each piece of bytes; a number is a pause in seconds.

    Without `ends`, the client waits for more.
    """
    head = {"content-type": content_type, "transfer-encoding": "chunked", **(headers or {})}
    writer.write(_head(status, head))
    for piece in pieces:
        if isinstance(piece, bytes):
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n" if piece else b"")
            await writer.drain()
        else:
            await asyncio.sleep(piece)
    if ends:
        writer.write(b"0\r\n\r\n")
        await writer.drain()


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    phrase = HTTPStatus(status).phrase if status in _STATUSES else "Unnamed"
    lines = [f"HTTP/1.1 {status} {phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
