"""The version of a binary file before a change, from patches that git makes."""

from __future__ import annotations

import base64
import random
import string
import subprocess
import time
import zlib
from pathlib import Path

import pytest

from jobs.view import binary_patch
from jobs.view.binary_patch import read_version_before

NOISE = random.Random(7).randbytes(150_000)
CHANGES = {
    "a few bytes": (NOISE, NOISE[:5_000] + b"other" + NOISE[5_005:] + b"more" * 40),
    "all bytes": (NOISE[:90_000], NOISE[90_000:]),
    "few zeros": (bytes(70_001), bytes(70_000)),
    "parts in another order": (NOISE, NOISE[100_000:] + NOISE[:100_000]),
    "a short file": (b"\0old", b"\0new"),
    "an added file": (b"", b"\0new"),
    "a removed file": (NOISE, b""),
}


def patch_of(folder: Path, before: dict[str, bytes], after: dict[str, bytes]) -> bytes:
    """The patch of a change, as jobs on a repository have it."""

    def git(*arguments: str) -> bytes:
        call = ("git", "-c", "user.name=a", "-c", "user.email=a", *arguments)
        return subprocess.run(call, cwd=folder, check=True, capture_output=True).stdout

    git("init", "--quiet")
    for files in (before, after):
        for path in folder.iterdir():
            if path.name != ".git":
                path.unlink()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        git("add", "--all")
        if files is before:
            git("commit", "--quiet", "--allow-empty", "--message=a")
    return git("diff", "--cached", "--binary", "--full-index", "--find-renames")


@pytest.mark.parametrize("change", CHANGES)
def test_the_version_before_follows_from_the_version_after(change, tmp_path):
    before, after = CHANGES[change]
    old, new = ({"a.png": content} if content else {} for content in (before, after))
    patch = patch_of(tmp_path, {**old, "a.txt": b"1\n"}, {**new, "a.txt": b"2\n"})
    assert read_version_before(patch, "a.png", after) == before
    assert read_version_before(patch, "a.txt", b"2\n") is None
    assert read_version_before(patch, "other.png", after) is None


@pytest.mark.parametrize("end", [b"", b"more"])
def test_a_renamed_file_has_its_version_before(end, tmp_path):
    patch = patch_of(tmp_path, {"a.png": NOISE}, {"b.png": NOISE + end})
    assert b"rename from a.png" in patch
    assert read_version_before(patch, "b.png", NOISE + end) == NOISE


def test_a_broken_patch_is_refused(tmp_path, monkeypatch):
    before, after = CHANGES["a few bytes"]
    patch = patch_of(tmp_path, {"a.png": before}, {"a.png": after})
    assert b"\ndelta " in patch
    with pytest.raises(ValueError, match="other bytes"):
        read_version_before(patch, "a.png", after + b"x")
    reverse = patch.rindex(b"\ndelta ")
    for broken in (
        patch[:reverse],
        patch[:reverse] + b"\ndelta 9\nzzz",
        patch[:reverse] + patch[reverse:].replace(b"delta ", b"delta 9"),
        patch[:reverse] + patch[reverse:].replace(b"delta", b"other"),
        patch[: reverse + 20],
    ):
        with pytest.raises(ValueError):
            read_version_before(broken, "a.png", after)
    monkeypatch.setattr(binary_patch, "MAX_VERSION_BYTES", len(before) - 1)
    with pytest.raises(ValueError, match="too large"):
        read_version_before(patch, "a.png", after)


LENGTHS = f"{string.ascii_uppercase}{string.ascii_lowercase}"


def hostile_patch(delta: bytes) -> bytes:
    """A patch whose version before the change follows by `delta` from the version after it."""

    def encode(content: bytes) -> str:
        packed = zlib.compress(content)
        parts = [packed[start : start + 52] for start in range(0, len(packed), 52)]
        return "\n".join(
            LENGTHS[len(part) - 1] + base64.b85encode(part, pad=True).decode() for part in parts
        )

    header = "diff --git a/a.png b/a.png\nindex 0..1 100644\nGIT binary patch\n"
    changes = f"literal 1\n{encode(b'x')}\n\ndelta {len(delta)}\n{encode(delta)}\n\n"
    return (header + changes).encode()


def test_a_hostile_difference_is_refused_at_once():
    assert read_version_before(hostile_patch(b"\x01\x02\x02ab"), "a.png", b"x") == b"ab"
    started_at = time.process_time()
    for delta in (
        b"\x01\x05" + bytes(8_000_000),  # steps without bytes
        b"\x01\x05" + b"\x81\xff" * 4_000_000,  # copies of bytes after the end
        b"\xff" * 1_000_000,  # an endless number
        b"\x01\x02\x02ab\x01c",  # a step after the last byte
    ):
        with pytest.raises(ValueError):
            read_version_before(hostile_patch(delta), "a.png", b"x")
    assert time.process_time() - started_at < 2.0
