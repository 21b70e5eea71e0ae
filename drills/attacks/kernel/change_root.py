"""Leaves its root, or takes off what covers something: chroot, pivot_root, umount2."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

NOWHERE = "/nonexistent/fettle"

ATTACK = knocking(
    Knock("chroot", 161, 51, (NOWHERE,)),
    Knock("pivot_root", 155, 41, (NOWHERE, NOWHERE)),
    Knock("umount2", 166, 39, (NOWHERE, -1)),  # unknown flags
    expects="each is refused before the kernel looks at it",
    control=Bare(root=True, within=("--mount",)),
)
