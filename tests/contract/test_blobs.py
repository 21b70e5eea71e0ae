"""Blobs keep bytes under their digest, in a directory and in memory."""

from __future__ import annotations

import asyncio
import hashlib

import pytest

from jobs.blobs import DirectoryBlobs, MemoryBlobs, digest_of
from jobs.errors import BlobMissing


@pytest.fixture(params=["memory", "directory"])
def blobs(request, tmp_path):
    return MemoryBlobs() if request.param == "memory" else DirectoryBlobs(tmp_path / "new" / "dir")


@pytest.mark.parametrize("content", [b"", b"text", bytes(range(256)) * 1000])
async def test_bytes_come_back_under_their_sha256(blobs, content):
    digest = await blobs.put(content)
    assert digest == digest_of(content) == hashlib.sha256(content).hexdigest()
    assert await blobs.get(digest) == content
    assert await blobs.put(content) == digest


@pytest.mark.parametrize(
    "digest",
    ["", "0" * 64, "0" * 63, "0" * 65, "A" * 64, "../../../etc/passwd", "0" * 62 + "/.", "é" * 64],
)
async def test_a_digest_of_nothing_that_is_kept_is_missing(blobs, digest):
    await blobs.put(b"something")
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_many_may_put_the_same_at_once(blobs):
    digests = await asyncio.gather(*(blobs.put(b"same" * 10_000) for _ in range(20)))
    assert len(set(digests)) == 1
    assert await blobs.get(digests[0]) == b"same" * 10_000
