"""Fills more memory than the limit, in eight processes that each stay below it."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import select
    import signal
    import time

    read, write = os.pipe()
    pids = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            kept = bytearray(b"x") * (given["each"] << 20)
            os.write(write, b"1")
            time.sleep(10)
            os._exit(len(kept) & 0)
        pids.append(pid)
    os.close(write)
    filled = 0  # of those that were not killed for it
    while filled < 8 and select.select([read], [], [], 3.0)[0]:
        filled += len(os.read(read, 8))
    time.sleep(0.4)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return f"{filled} processes held {given['each']} MiB each" if filled == 8 else None


ATTACK = Attack(
    probe,
    expects="memory is counted over all processes of the run",
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    given={"each": 40},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
