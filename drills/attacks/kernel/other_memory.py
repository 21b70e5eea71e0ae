"""Calls that look into, or move, the memory of other processes: kcmp, process_madvise, NUMA."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("process_vm_readv", 310, 270, (-1, 0, 0, 0, 0, -1)),  # unknown flags
    Knock("process_vm_writev", 311, 271, (-1, 0, 0, 0, 0, -1)),
    Knock("process_madvise", 440, 440, (-1, 0, 0, 0, -1)),
    Knock("kcmp", 312, 272, (-1, -1, 0, 0, 0)),  # no such processes
    Knock("pidfd_getfd", 438, 438, (-1, -1, -1)),
    Knock("move_pages", 279, 239, (0, 0, 0, 0, 0, -1)),
    Knock("migrate_pages", 256, 238, (-1, 0, 0, 0)),
    expects="each is refused before the kernel looks at it",
    control=Bare(),
)
