"""Machine code, called from Python. Runs in a room, from its source."""

from __future__ import annotations

from typing import Any

from drills.attacks.steps.raw import apart


def execute(code: str) -> int:
    """Put these bytes (hex) into memory of their own, call them, tell what they leave in eax."""
    import ctypes
    import mmap

    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(place)())


def asks_its_pid(given: dict[str, Any]) -> str | None:
    """A probe: whether the kernel tells a child its number that asks by `code`, of x86-64."""
    import os

    if os.uname().machine != "x86_64":
        return None
    answer = apart(lambda: execute(given["code"]))
    return f"process {answer}, said the kernel" if answer is not None and answer > 0 else None
