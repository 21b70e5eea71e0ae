"""Calls that nobody has needed for decades: sysfs, ustat, uselib, _sysctl, nfsservctl."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("sysfs", 139, None, (99, 0, 0)),  # no such option
    Knock("ustat", 136, None, (-1, 0)),  # no such device
    Knock("uselib", 134, None, (0,)),
    Knock("_sysctl", 156, None, (0,)),
    Knock("lookup_dcookie", 212, 18, (0, 0, 0)),
    Knock("nfsservctl", 180, 42, (99, 0, 0)),
    expects="each is refused before the kernel looks at it",
    control=Bare(root=True),
)
