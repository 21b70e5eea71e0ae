"""Looks for device nodes: disks, terminals, memory, virtual machines, network tunnels."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack

HARMLESS = ((1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0), (5, 2))
"""null, zero, full, random, urandom, the own terminal, and ptmx of a devpts of one's own."""


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    harmless = {tuple(each) for each in given["harmless"]}
    for top in ("/dev", "/work", "/run", "/tmp", "/"):
        for folder, folders, files in os.walk(top):
            if top == "/":
                folders.clear()
            for name in files + folders:
                path = os.path.join(folder, name)
                try:
                    status = os.lstat(path)
                except OSError:
                    continue
                device = (os.major(status.st_rdev), os.minor(status.st_rdev))
                if stat.S_ISBLK(status.st_mode):
                    return f"a disk: {path}"
                if stat.S_ISCHR(status.st_mode) and device not in harmless:
                    return f"a device {device}: {path}"
    return None


ATTACK = Attack(
    probe,
    expects="null, zero, full, random, a terminal of its own: nothing else",
    given={"harmless": HARMLESS},
)
