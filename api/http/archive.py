"""A workspace as a tar archive, streamed file by file: the same files give the same bytes."""

from __future__ import annotations

import asyncio
import gzip
import io
import tarfile
from collections.abc import AsyncIterator

from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import Manifest


async def archived(workspace: Manifest, blobs: Blobs) -> AsyncIterator[bytes]:
    """The chunks of a .tar.gz of regular files, sorted, without times and owners."""
    out = _Outgoing()
    # an mtime or a file name in the header would make each archive differ
    with (
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=out, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path, entry in sorted(workspace.files.items()):
            content = await blobs.get(entry.digest)
            await asyncio.to_thread(_add, tar, path, content)
            yield out.taken()
    yield out.taken()


def _add(tar: tarfile.TarFile, path: str, content: bytes) -> None:
    member = tarfile.TarInfo(path)
    member.size = len(content)
    member.mode = 0o644
    tar.addfile(member, io.BytesIO(content))


class _Outgoing(io.RawIOBase):
    """A writable file whose bytes are taken away as they arrive."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: object) -> int:
        self._waiting += memoryview(content)  # type: ignore[arg-type]
        return memoryview(content).nbytes  # type: ignore[arg-type]

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        taken = bytes(self._waiting)
        self._waiting.clear()
        return taken
