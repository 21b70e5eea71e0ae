"""Planting: a control is shown what no machine may offer, in a mount namespace of its own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Baseline
from drills.attacks.outcome import Observation

if TYPE_CHECKING:
    from drills.attacks.context import Context

PLANTED = Baseline(root=True, unshare=("--mount",))
"""The control that may use `bound`."""


async def planting(context: Context) -> Observation:
    """The drive that tells the probe whether it is to plant its finding first (`plant`)."""
    namespace = os.readlink("/proc/self/ns/mnt")
    return await context.run(given={"plant": context.is_control, "mounts": namespace})


def bound(given: dict[str, Any], source: str, target: str) -> None:
    """Lay one file or folder over another, for this probe alone: never in the host's namespace."""
    import ctypes
    import os

    if os.readlink("/proc/self/ns/mnt") == given["mounts"]:
        raise RuntimeError("not in a mount namespace of its own: nothing is planted")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), None, 4096, None):
        raise OSError(ctypes.get_errno(), f"cannot bind {source} to {target}")
