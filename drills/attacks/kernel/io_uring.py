"""Sets up a ring by which calls go around the filter: io_uring."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("io_uring_setup", 425, 425, (1, 0)),  # no description of the ring
    Knock("io_uring_enter", 426, 426, (-1, 0, 0, 0, 0)),
    Knock("io_uring_register", 427, 427, (-1, 0, 0, 0)),
    expects="each is refused before the kernel looks at it",
    control=Bare(root=True),
)
