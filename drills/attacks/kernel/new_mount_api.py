"""Mounts by the newer calls: open_tree, fsopen, fsmount, move_mount, mount_setattr and theirs."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

# All with flags that do not exist, or with no descriptor.
ATTACK = knocking(
    Knock("open_tree", 428, 428, (-1, "", 0x7FFFFFFF)),
    Knock("move_mount", 429, 429, (-1, "", -1, "", 0x7FFFFFFF)),
    Knock("fsopen", 430, 430, ("tmpfs", 0x7FFFFFFF)),
    Knock("fsconfig", 431, 431, (-1, 0, 0, 0, 0)),
    Knock("fsmount", 432, 432, (-1, 0x7FFFFFFF, 0)),
    Knock("fspick", 433, 433, (-1, "", 0x7FFFFFFF)),
    Knock("mount_setattr", 442, 442, (-1, "", 0x7FFFFFFF, 0, 0)),
    Knock("statmount", 457, 457, (0, 0, 0, 0x7FFFFFFF)),
    Knock("listmount", 458, 458, (0, 0, 0, 0x7FFFFFFF)),
    expects="each is refused before the kernel looks at it",
    control=Bare(root=True, within=("--mount",)),
)
