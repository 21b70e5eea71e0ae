"""Mounts a file system in its own directory: a tmpfs, a /proc, a bind of the root."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    os.mkdir("mounted")
    bind = 4096
    for source, kind, flags in ((b"none", b"tmpfs", 0), (b"none", b"proc", 0), (b"/", None, bind)):
        if libc.mount(source, b"mounted", kind, flags, None) == 0:
            libc.umount2(b"mounted", 2)
            return f"mounted {(kind or source).decode()}"
    return None


ATTACK = Attack(
    probe,
    expects="nothing can be mounted",
    control=Bare(root=True, within=("--mount",)),
)
