"""Looks into the room's agent: traces it, opens its memory, reads its environment."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long] * 4
    for pid in {os.getppid(), 1} if os.getppid() == 1 else {os.getppid()}:
        for name, flags in (("mem", os.O_RDWR), ("mem", os.O_RDONLY), ("auxv", os.O_RDONLY)):
            try:
                fd = os.open(f"/proc/{pid}/{name}", flags)
                return f"/proc/{pid}/{name} can be opened: {fd}"
            except OSError:
                continue
        if libc.ptrace(0x4206, pid, 0, 0) == 0:  # PTRACE_SEIZE: it runs on
            return f"pid {pid} can be traced"
        buffer = ctypes.create_string_buffer(16)
        vector = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
        if libc.process_vm_readv(pid, vector, 1, vector, 1, 0) > 0:
            return f"the memory of pid {pid} can be read"
    return None


ATTACK = Attack(
    probe,
    expects="the agent is not dumpable, and the calls are refused",
    control=Baseline(host_root=True),
)
