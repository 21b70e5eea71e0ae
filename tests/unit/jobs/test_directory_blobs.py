"""After a crash or on a full disk, the directory contains only complete blobs."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.blobs.directory import DirectoryBlobs, digest_bytes
from jobs.errors import BlobMissing, BlobsUnavailable

CONTENT = b"x" * 1_000_000

CRASHING = """
import asyncio, os, sys
from pathlib import Path
from jobs.blobs.directory import DirectoryBlobs

def crash(*_):
    os._exit(9)

setattr(*{"fsync": (os, "fsync"), "replace": (Path, "replace")}[sys.argv[1]], crash)
asyncio.run(DirectoryBlobs(Path(sys.argv[2])).put(b"x" * 1_000_000))
"""


def files(root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize("at", ["fsync", "replace"])
def test_a_crash_before_the_end_leaves_no_readable_blob(tmp_path, at):
    crashed = subprocess.run(
        [sys.executable, "-c", CRASHING, at, str(tmp_path)],
        check=False,
        cwd=Path(__file__).parents[3],
    )
    assert crashed.returncode == 9
    blobs, digest = DirectoryBlobs(tmp_path), digest_bytes(CONTENT)
    with pytest.raises(BlobMissing):
        asyncio.run(blobs.get(digest))
    assert all(path.name.startswith(".new-") for path in files(tmp_path))
    assert asyncio.run(blobs.put(CONTENT)) == digest
    assert asyncio.run(blobs.get(digest)) == CONTENT


async def test_a_full_disk_leaves_no_file(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(BlobsUnavailable, match="no space") as raised:
            await DirectoryBlobs(tmp_path).put(CONTENT)
        assert raised.value.reason == "it is full"
        with pytest.raises(BlobsUnavailable, match="no space"):
            await DirectoryBlobs(tmp_path).probe()
    assert files(tmp_path) == []


async def test_bytes_that_a_disk_has_changed_count_as_missing_and_can_be_stored_again(tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    digest = await blobs.put(CONTENT)
    (path,) = files(tmp_path)
    path.chmod(0o600)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(BlobMissing, match="do not match"):
        await blobs.get(digest)
    await blobs.put(CONTENT)
    assert await blobs.get(digest) == CONTENT
