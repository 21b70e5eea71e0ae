"""Blobs: immutable bytes under their sha256, in a directory. `s3.py` stores them in a bucket.

Both compare the bytes that they read with the digest, because a damaged disk must not change a job.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
import importlib
import os
import tempfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar

from jobs.blobs import atomic_write
from jobs.errors import BlobMissing, BlobsUnavailable

T = TypeVar("T")
PROBE_BYTES = 64 * 1024
"""The size of a probe. A storage without 64 KiB of free space cannot serve a job."""
FULL = "it is full"
_CAUSES: Mapping[int | None, str] = {
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EROFS: "it is read-only",
    errno.EACCES: "it refuses access",
    errno.EPERM: "it refuses access",
    errno.EIO: "it has an input/output error",
    errno.ESTALE: "its file server is away",
    errno.ENOTCONN: "its file server is away",
}
"""The causes, by the number (`errno`) of an OSError of a disk or of a share."""
LONG_BYTES = 1024 * 1024
"""The sha256 of this number of bytes takes a few milliseconds."""


def digest_bytes(content: bytes) -> str:
    """The name of these bytes: sha256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


async def compute_digest(content: bytes) -> str:
    """`digest_bytes`, in a thread if it would block the event loop too long."""
    if len(content) < LONG_BYTES:
        return digest_bytes(content)
    return await asyncio.to_thread(digest_bytes, content)


def check_digest(digest: str) -> None:
    """Raise BlobMissing for an invalid digest: it must not become a part of a path."""
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise BlobMissing(digest)


def describe_os_error(error: OSError) -> str | None:
    """The reason why a disk or a share fails, without a path: `it is full`. None: another kind of
    error."""
    return _CAUSES.get(error.errno)


class Blobs(Protocol):
    """Bytes by digest. Every method raises BlobsUnavailable if the storage fails or refuses."""

    async def put(self, content: bytes) -> str:
        """Store bytes durably; returns their digest. A second put of the same bytes has no
        effect."""
        ...

    async def put_all(self, contents: Collection[bytes]) -> list[str]:
        """`put` for each of `contents`, at the same time; returns their digests in this order."""
        return await asyncio.gather(*map(self.put, contents))

    async def get(self, digest: str) -> bytes:
        """The bytes; raises BlobMissing, also if they are damaged."""
        ...

    async def remove(self, digest: str) -> None:
        """Remove bytes; no error if they are missing."""
        ...

    async def probe(self) -> None:
        """Write, read and remove a few bytes, to test the storage."""
        ...


def verify_bytes(digest: str, content: bytes) -> bytes:
    """`content` if its digest is `digest`; otherwise raises BlobMissing."""
    if digest_bytes(content) != digest:
        raise BlobMissing(digest, damaged=True)
    return content


class DirectoryBlobs(Blobs):
    """Blobs in a directory, two levels deep. A crash leaves no incomplete file."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, content: bytes) -> str:
        """See Blobs."""
        return await self._call(lambda: self._put(content))

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        return await self._call(lambda: self._get(digest))

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        path = self._path(digest)
        await self._call(lambda: path.unlink(missing_ok=True))

    async def probe(self) -> None:
        """See Blobs."""
        await self._call(self._probe)

    async def _call(self, work: Callable[[], T]) -> T:
        """Do `work` in a thread; its OSErrors become BlobsUnavailable."""
        try:
            return await asyncio.to_thread(work)
        except OSError as error:
            default = f"it fails ({error.strerror or type(error).__name__})"
            reason = describe_os_error(error) or default
            raise BlobsUnavailable(f"the directory {self._root}: {error}", reason) from error

    def _put(self, content: bytes) -> str:
        digest = digest_bytes(content)
        path = self._path(digest)
        if not _has_size(path, len(content)):
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write.write(path, content)
            _sync_directory(self._root)
        # Also if the file exists: the process that has just written it may not have synced it yet.
        _sync_directory(path.parent)
        return digest

    def _get(self, digest: str) -> bytes:
        try:
            return verify_bytes(digest, self._path(digest).read_bytes())
        except FileNotFoundError:
            raise BlobMissing(digest) from None

    def _probe(self) -> None:
        content = os.urandom(PROBE_BYTES)
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._root, prefix=".probe-") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if Path(file.name).read_bytes() != content:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def _path(self, digest: str) -> Path:
        check_digest(digest)
        return self._root / digest[:2] / digest[2:]


def _has_size(path: Path, size: int) -> bool:
    """Whether the file exists in full size. A file that a damaged disk has cut is written again."""
    try:
        return path.stat().st_size == size
    except FileNotFoundError:
        return False


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_blobs(directory: Path, bucket: Mapping[str, Any] | None) -> Blobs:
    """The blobs in the bucket (fields of `s3.Bucket`), or in the directory if `bucket` is None.

    The bucket's library is an extra of the package, and is imported only for a bucket.
    """
    if bucket is None:
        return DirectoryBlobs(directory)
    s3_blobs = importlib.import_module("jobs.blobs.s3")
    blobs: Blobs = s3_blobs.S3Blobs(s3_blobs.Bucket(**bucket))
    return blobs
