"""Restarts the machine, or loads another kernel into it: reboot, kexec_load, kexec_file_load."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("reboot", 169, 142, (0, 0, 0, 0)),  # neither magic number fits
    Knock("kexec_load", 246, 104, (0, 1 << 20, 0, 0xFFFF)),  # too many segments, unknown flags
    Knock("kexec_file_load", 320, 294, (-1, -1, 0, 0, 0xFFFF)),  # unknown flags
    expects="each is refused before the kernel looks at it",
    # Who owns a process namespace may restart that; so root of a user namespace gets through too.
    control=Bare(root=True, within=("--pid", "--fork")),
)
