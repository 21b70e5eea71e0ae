"""Blobs: immutable bytes under their sha256, in a directory. `s3.py` has them in a bucket."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from jobs.blobs import atomic_write
from jobs.errors import BlobMissing

LONG_BYTES = 1024 * 1024
"""sha256 of so much takes a few milliseconds."""


def digest_of(content: bytes) -> str:
    """The name of these bytes: sha256, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


async def hashed(content: bytes) -> str:
    """`digest_of`; in a thread where it takes longer than an event loop can be kept waiting."""
    if len(content) < LONG_BYTES:
        return digest_of(content)
    return await asyncio.to_thread(digest_of, content)


def checked_digest(digest: str) -> None:
    """Raise BlobMissing for an invalid digest: it must not become a part of a path."""
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise BlobMissing(digest)


class Blobs(Protocol):
    """Bytes by digest."""

    async def put(self, content: bytes) -> str:
        """Keep bytes durably; returns their digest. Putting them again does nothing."""
        ...

    async def get(self, digest: str) -> bytes:
        """The bytes; raises BlobMissing."""
        ...

    async def remove(self, digest: str) -> None:
        """Remove bytes, where they are there."""
        ...


class DirectoryBlobs:
    """Blobs in a directory, two levels deep, written so that a crash leaves whole files only."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def put(self, content: bytes) -> str:
        """See Blobs."""
        return await asyncio.to_thread(self._put, content)

    async def get(self, digest: str) -> bytes:
        """See Blobs."""
        return await asyncio.to_thread(self._get, digest)

    async def remove(self, digest: str) -> None:
        """See Blobs."""
        await asyncio.to_thread(self._path(digest).unlink, missing_ok=True)

    def _put(self, content: bytes) -> str:
        digest = digest_of(content)
        path = self._path(digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_write.write(path, content)
            _sync_directory(self._root)
        # also where another process has just put it there: it may not have come so far
        _sync_directory(path.parent)
        return digest

    def _get(self, digest: str) -> bytes:
        try:
            return self._path(digest).read_bytes()
        except FileNotFoundError:
            raise BlobMissing(digest) from None

    def _path(self, digest: str) -> Path:
        checked_digest(digest)
        return self._root / digest[:2] / digest[2:]


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_blobs(directory: Path, bucket: Mapping[str, Any] | None) -> Blobs:
    """The bucket (fields of `s3.Bucket`) where one is named, else the directory.

    The bucket's library is an extra of the package, and is loaded for it alone.
    """
    if bucket is None:
        return DirectoryBlobs(directory)
    s3_blobs = importlib.import_module("jobs.blobs.s3")
    blobs: Blobs = s3_blobs.S3Blobs(s3_blobs.Bucket(**bucket))
    return blobs
