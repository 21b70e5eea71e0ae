"""Fills shared memory: `/dev/shm`, beside it memory files and segments of System V."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    block = bytes(1 << 20)
    total = 0
    fds = []
    path = f"/dev/shm/{given['mark']}"
    for nameless in (False, True):
        try:
            fds.append(os.memfd_create("m") if nameless else os.open(path, os.O_CREAT | os.O_RDWR))
            for _ in range(given["mib"]):
                total += os.write(fds[-1], block)
        except OSError:
            continue
    if os.path.exists(path):
        os.unlink(path)
    segment = libc.shmget(0, given["mib"] << 20, 0o1600)
    if segment >= 0:
        total += given["mib"] << 20
        libc.shmctl(segment, 0, None)
    return f"{total >> 20} MiB of shared memory" if total >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="`/dev/shm` is sized; memory that belongs to no process is counted or not to be had",
    limits=Limits(memory_bytes=128 * MIB, file_bytes=128 * MIB),
    given={"mib": 96, "enough": 160 * MIB},
    ends=frozenset({End.DISK, End.MEMORY}),
)
