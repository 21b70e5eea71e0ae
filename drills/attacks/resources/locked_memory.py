"""Locks memory, so that it cannot be taken back."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import mmap

    libc = ctypes.CDLL(None, use_errno=True)
    size = given["mib"] << 20
    memory = mmap.mmap(-1, size)
    start = ctypes.c_char.from_buffer(memory)
    if libc.mlock(ctypes.byref(start), ctypes.c_size_t(size)) == 0:
        return f"{given['mib']} MiB are locked"
    return None


ATTACK = Attack(
    probe,
    expects="at most a few MiB can be locked",
    given={"mib": 32},
    control=Bare(host_root=True),
)
