"""Writes into control groups, or mounts them: release_agent runs a program as the host's root."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/mountinfo") as file:
        rows = [line.split() for line in file]
    places = [row[4] for row in rows if row[row.index("-") + 1].startswith("cgroup")]
    for place in (*places, "/sys/fs/cgroup"):
        for name in ("release_agent", "cgroup.procs", "devices.allow", "tasks", "memory.max"):
            try:
                os.close(os.open(f"{place}/{name}", os.O_WRONLY))  # nothing is written
            except OSError:
                continue
            return f"{place}/{name} opens for writing"
    os.mkdir("groups")
    for kind, words in ((b"cgroup2", None), (b"cgroup", b"memory"), (b"cgroup", b"rdma")):
        if libc.mount(b"none", b"groups", kind, 0, words) == 0:
            libc.umount2(b"groups", 2)
            return f"mounted {kind.decode()}"
    return None


ATTACK = Attack(
    probe,
    expects="there are none to be seen, and none can be mounted",
    control=Bare(root=True, within=("--mount", "--cgroup")),
)
