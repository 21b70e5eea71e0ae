"""Makes a sparse file that is far larger than a file may be."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os

    for size in (64 << 20, 1 << 30, 1 << 40):
        for make in (
            lambda fd, size: os.ftruncate(fd, size),
            lambda fd, size: os.pwrite(fd, b"x", size),
            lambda fd, size: os.posix_fallocate(fd, size, 1),
        ):
            fd = os.open("giant", os.O_CREAT | os.O_RDWR)
            try:
                make(fd, size)
                return f"a file of {os.fstat(fd).st_size} bytes"
            except OSError:
                continue
            finally:
                os.close(fd)
                os.unlink("giant")
    return None


ATTACK = Attack(
    probe,
    expects="no file grows beyond `Limits.file_bytes`, holes counted",
    limits=Limits(file_bytes=MIB),
    ends=frozenset({End.DISK}),
)
