"""The streams of a container without a terminal: stdout and stderr in turns, each under a header.

A header is the stream's number (1 stdout, 2 stderr), three zero bytes and a size (4 bytes,
big-endian). The size is the engine's word, but what follows is the sandbox's: it is read only
as it is asked for, so whatever the sandbox floods stays in its own pipes.
"""

from __future__ import annotations

import asyncio

STDOUT, STDERR = 1, 2
STDERR_BYTES = 4096
_PART = 1 << 16


class Streams:
    """Reads what a container writes to stdout; the last of its stderr is kept in `stderr_tail`."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._left = 0
        self._said = bytearray()

    async def readexactly(self, size: int) -> bytes:
        """`size` bytes of stdout. Raises asyncio.IncompleteReadError if the container has ended or
        the engine breaks its protocol.
        """
        data = bytearray()
        while len(data) < size:
            if not self._left:
                await self._next(data, size)
            part = await self._reader.read(min(self._left, size - len(data)))
            if not part:
                raise asyncio.IncompleteReadError(bytes(data), size)
            self._left -= len(part)
            data += part
        return bytes(data)

    @property
    def stderr_tail(self) -> str:
        """The last that was said on stderr, at most 4 KiB."""
        return self._said.decode(errors="replace").strip()

    async def _next(self, so_far: bytearray, wanted: int) -> None:
        """Go to the next piece of stdout."""
        while not self._left:
            header = await self._reader.readexactly(8)
            size = int.from_bytes(header[4:], "big")
            if header[0] == STDERR:
                await self._listen(size)
            elif header[0] == STDOUT:
                self._left = size
            else:
                raise asyncio.IncompleteReadError(bytes(so_far), wanted)

    async def _listen(self, size: int) -> None:
        while size:
            part = await self._reader.read(min(size, _PART))
            if not part:
                return
            size -= len(part)
            self._said += part
            del self._said[:-STDERR_BYTES]
