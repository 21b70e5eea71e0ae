"""Reads its mounts: what of the host could be written, what is there beside the system's trees.

A mount's own line tells where its tree lies on the host, and a kernel offers no way to leave that
out; so the paths of trees that are mounted read-only are let pass, and everything else is not.
"""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack

OWN = ("tmpfs", "proc", "devpts", "mqueue", "devtmpfs", "sysfs", "cgroup", "cgroup2", "overlay")
"""Kinds that hold nothing of a disk. Writable are a room's own tmpfs, devpts and mqueue."""


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    with open("/proc/self/mountinfo") as file:
        lines = [line.split() for line in file]
    for words in lines:
        root, at, options = words[3], words[4], words[5].split(",")
        rest = words[words.index("-") + 1 :]
        kind, source = rest[0], rest[1]
        try:
            if stat.S_ISCHR(os.stat(at).st_mode):
                continue  # one device node; which ones there are is another attack's affair
        except OSError:
            continue  # another mount lies over it
        if "ro" not in options and kind not in ("tmpfs", "proc", "devpts", "mqueue"):
            return f"writable: {kind} {source} {root} at {at}"
        if kind not in given["own"] and not source.startswith("/") and "ro" not in options:
            return f"another file system: {kind} at {at}"
        if "nosuid" not in options and kind == "tmpfs" and "ro" not in options:
            return f"set-user-id programs work at {at}"
        if not (os.statvfs(at).f_flag & 1) and root.startswith(("/home", "/root", "/var")):
            return f"of the host, writable: {root} at {at}"
    for file_path in given["files"]:
        folder = os.path.dirname(file_path)
        mounted = any(folder in (words[3], words[4]) for words in lines)
        if mounted and folder not in ("/tmp", "/dev/shm"):
            return f"a folder with a canary is mounted: {folder}"
    return None


ATTACK = Attack(
    probe,
    expects="the host's trees are read-only; what can be written is the room's own, nosuid",
    given={"own": OWN},
)
