"""Fills more than twice the memory limit at once, before anyone can have looked."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits

LIMIT = 512 * MIB


def probe(given: dict[str, Any]) -> str | None:
    import mmap
    import os
    import select
    import signal

    read, write = os.pipe()
    go, start = os.pipe()
    pids = []
    end = os.WEXITED | os.WNOHANG | os.WNOWAIT
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            os.read(go, 1)
            # MAP_POPULATE (0x8000): the kernel fills it within one system call.
            mmap.mmap(-1, given["each"] << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON | 0x8000)
            os.write(write, b"1")
            signal.pause()
        pids.append(pid)
    os.close(write)
    os.write(start, b"12345678")
    filled = 0
    while filled < 8 and select.select([read], [], [], 3.0)[0]:
        filled += len(os.read(read, 8))
    # The kernel makes room by killing those that have filled theirs already: all must be there.
    filled -= sum(os.waitid(os.P_PID, pid, end) is not None for pid in pids)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return f"{filled * given['each']} MiB at one moment" if filled == 8 else None


ATTACK = Attack(
    probe,
    expects="never more than twice the limit, however fast it is filled",
    limits=Limits(memory_bytes=LIMIT, workspace_bytes=8 * MIB),
    given={"each": 160},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=4096 * MIB)),
    alone=True,
)
