"""Planting: a control is shown what no machine may offer, in a mount namespace of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Bare
from drills.attacks.seen import Seen

if TYPE_CHECKING:
    from drills.attacks.scene import Scene

PLANTED = Bare(root=True, within=("--mount",))
"""The control that may use `bound`."""


async def planting(scene: Scene) -> Seen:
    """The drive that tells the probe whether it is to plant its finding first (`plant`)."""
    namespace = os.readlink("/proc/self/ns/mnt")
    return await scene.run(given={"plant": scene.is_control, "mounts": namespace})


def bound(given: dict[str, Any], source: str, target: str) -> None:
    """Lay one file or folder over another, for this probe alone: never in the host's namespace."""
    import ctypes
    import os

    if os.readlink("/proc/self/ns/mnt") == given["mounts"]:
        raise RuntimeError("not in a mount namespace of its own: nothing is planted")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, 4096, None):
        raise OSError(ctypes.get_errno(), f"cannot bind {source} to {target}")
