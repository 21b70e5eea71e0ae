"""Makes a device file in its own directory: mknod."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.rights import roots


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    # /dev/null and, by its block number, a loop device, of which nothing is opened.
    for kind, major, minor in ((stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 7, 0)):
        try:
            os.mknod("device", kind | 0o600, os.makedev(major, minor))
        except OSError:
            continue
        os.unlink("device")
        return f"a device {major}:{minor}"
    return None


ATTACK = roots(Attack(probe, expects="none can be made", control=Bare(root=True)))
