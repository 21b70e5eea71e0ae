"""Makes a device file in its own directory: mknod."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    # The null device, a loop device, and the one that is none (a layer's white spot), which anyone
    # may make: where it can be made, mknod came through. None is opened.
    for kind, major, minor in ((stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 7, 0), (stat.S_IFCHR, 0, 0)):
        try:
            os.mknod("device", kind | 0o600, os.makedev(major, minor))
        except OSError:
            continue
        os.unlink("device")
        return f"a device {major}:{minor}"
    return None


ATTACK = Attack(probe, expects="none can be made", control=Bare(root=True))
