"""Door: a setup's only network. What is asked of a proxy goes to the operator's indexes; `PUT
/layer`, which nobody asks of a proxy, takes what the setup has left."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from worker.egress.authority import Authority
from worker.egress.hosts import HostList
from worker.egress.proxy import Proxy

LEAVES = b"PUT /layer "
_HEAD_END = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\nContent-Length: (\d{1,18})\r\n")
_CHUNK = 1024 * 1024


@dataclass(slots=True)
class Door:
    """Answers the connections of one run. An archive of at most `most_bytes` is written to
    `archive`, in place of one before it, as a run that is made once more sends it; `whole`: all of
    it came; `failed`: why this machine's disk did not take it."""

    archive: Path
    most_bytes: int
    authority: Authority
    proxy: Proxy
    whole: bool = False
    failed: OSError | None = None
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    @asynccontextmanager
    async def to(
        cls,
        hosts: tuple[str, ...],
        credentials: Mapping[str, str],
        archive: Path,
        most_bytes: int,
        fetched_bytes: int,
    ) -> AsyncIterator[Door]:
        """One that leads to these hosts. Those that are named in full may be of an intranet."""
        authority = Authority()
        proxy = Proxy(
            HostList(hosts),
            fetched_bytes,
            private=True,
            authority=authority,
            credentials=credentials,
        )
        async with aclosing(proxy):
            yield cls(archive, most_bytes, authority, proxy)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection, and close it."""
        try:
            head = await reader.readuntil(_HEAD_END)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.close()
            return
        if not head.startswith(LEAVES):
            await self.proxy.answer(reader, writer, head)
            return
        try:
            status, said = await self._take(reader, head)
            text = said.encode()
            writer.write(b"HTTP/1.1 %b\r\nConnection: close\r\n" % status)
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # it ended in the middle
        except OSError as error:
            self.failed = error
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _take(self, reader: asyncio.StreamReader, head: bytes) -> tuple[bytes, str]:
        length = _LENGTH.search(head)
        if length is None or (left := int(length[1])) > self.most_bytes:
            return b"413 Content Too Large", "it left more than is taken"
        async with self._taking:
            self.whole, self.failed = False, None
            with self.archive.open("wb") as file:
                while left:
                    left -= file.write(await reader.readexactly(min(left, _CHUNK)))
            self.whole = True
            return b"200 OK", ""
