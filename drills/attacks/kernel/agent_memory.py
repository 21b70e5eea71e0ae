"""Reads the memory of the process that started it: process_vm_readv, /proc/PID/mem."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import call
from drills.attacks.steps.rights import own


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    number = {"x86_64": 310, "aarch64": 270}[os.uname().machine]
    for pid in dict.fromkeys((os.getppid(), 1)):
        try:
            with open(f"/proc/{pid}/maps") as maps:
                start = int(next(line for line in maps if " r" in line).partition("-")[0], 16)
        except (OSError, StopIteration):
            start = 0x400000
        buffer = ctypes.create_string_buffer(16)
        mine, theirs = [ctypes.addressof(buffer), 16], [start, 16]
        got = call(number, pid, mine, 1, theirs, 1, 0)
        if got > 0:
            return f"{got} bytes of process {pid} by process_vm_readv"
        try:
            with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                return f"{len(memory.read(16))} bytes of process {pid} by its /proc/{pid}/mem"
        except OSError:
            continue
    return None


ATTACK = Attack(probe, expects="its memory is its own", control=own(), uses=(call,))
