"""Holds more memory than the limit in a process whose first thread has ended: it looks dead."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Raised
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os
    import select
    import threading
    import time

    read, write = os.pipe()

    def fill() -> None:
        time.sleep(0.3)  # until it looks dead
        kept: list[bytearray] = []
        while len(kept) < given["most"]:
            kept.append(bytearray(b"x") * (1 << 20))
            time.sleep(0.001)
        time.sleep(0.4)
        os.write(write, b"1")
        os._exit(0)

    if os.fork() == 0:
        threading.Thread(target=fill).start()
        ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)  # exit
    os.close(write)
    if select.select([read], [], [], 8.0)[0] and os.read(read, 1):
        return f"a process without its first thread held {given['most']} MiB"
    return None


ATTACK = Attack(
    probe,
    expects="who has ended but for his other threads is counted like anybody",
    limits=Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB),
    given={"most": 320},
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=1024 * MIB)),
)
