"""The host's side of the talk with a sandbox: bounded frames over a socket, in an event loop.

The sandbox's side, and the format, are in `sandbox/agent/wire.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from sandbox.order import Order
from sandbox.result import HEADER_BYTES, Forged


class Reader(Protocol):
    """What is read of a sandbox's answer."""

    async def readexactly(self, size: int, /) -> bytes:
        """Exactly `size` bytes. Raises IncompleteReadError where it has ended, OSError."""
        ...


async def send(writer: asyncio.StreamWriter, order: Order) -> None:
    """Send an order. Raises OSError where the sandbox is gone."""
    writer.write(order.head)
    for blob in order.blobs:
        writer.write(blob)
        await writer.drain()
    await writer.drain()


async def receive_header(reader: Reader) -> bytes:
    """The text of one header. Raises Forged where it is too large, IncompleteReadError at EOF."""
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > HEADER_BYTES:
        raise Forged(f"a header of {size} bytes")
    return await reader.readexactly(size)


async def receive_blobs(reader: Reader, sizes: Sequence[int]) -> list[bytes]:
    """Blobs of sizes that were checked before. Raises IncompleteReadError at EOF."""
    return [await reader.readexactly(size) for size in sizes]
