"""Memory that is held longer than between two looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def fill_shared(given: dict[str, Any]) -> str | None:
    """Eight processes each fill a mapping of `each` MiB that all of them share."""
    import mmap
    import os
    import time

    try:
        parts = [mmap.mmap(-1, given["each"] << 20) for _ in range(8)]
    except OSError:
        return None
    for part in parts:
        pid = os.fork()
        if pid == 0:
            for at in range(0, len(part), 4096):
                part[at] = 1
            os._exit(0)  # its pages stay: they belong to the mapping, which all of us hold
        os.waitpid(pid, 0)
    time.sleep(0.4)
    touched = sum(len(part) for part in parts if part[0] == 1)
    return f"{touched >> 20} MiB of shared memory" if touched == 8 * len(parts[0]) else None


def held_by_all(processes: int, fill: Callable[..., int], *told: Any) -> int:
    """The bytes that so many processes have the kernel hold at once, as `fill(*told)` counts its
    own. What that has opened must stay open behind it: what its objects close, the kernel lets go.
    """
    import os
    import signal
    import time

    read, write = os.pipe()
    pids = []
    for _ in range(processes):
        pid = os.fork()
        if pid == 0:
            os.write(write, fill(*told).to_bytes(8, "big"))
            signal.pause()
        pids.append(pid)
    os.close(write)
    held = sum(int.from_bytes(os.read(read, 8), "big") for _ in pids)
    time.sleep(0.4)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return held
