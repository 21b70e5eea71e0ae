"""TLS in front of a server without TLS; it records the data that clients send."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.servers.certificates import self_signed

HOST = "localhost"


@dataclass
class TlsFront:
    """Clients can verify the front as HOST with the file `certificate`."""

    certificate: Path
    port: int = 0
    handshakes: int = 0
    received: bytearray = field(default_factory=bytearray)
    """All data that clients have sent, decrypted."""


@contextmanager
def tls_front(folder: Path, port: int) -> Iterator[TlsFront]:
    """TLS on loopback in front of `port`, with a new certificate."""
    folder.mkdir(parents=True)
    certificate, context = self_signed(folder, HOST)
    front = TlsFront(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        front.handshakes += 1
        behind_reader, behind = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pump(reader, behind, front.received), _pump(behind_reader, writer))

    async def start() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
        front.port = server.sockets[0].getsockname()[1]

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # the client has refused the certificate
    loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield front
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, copy: bytearray | None = None
) -> None:
    with contextlib.suppress(OSError):
        while part := await reader.read(65_536):
            if copy is not None:
                copy += part
            writer.write(part)
            await writer.drain()
    with contextlib.suppress(OSError):
        writer.close()
