"""Loads and removes kernel modules."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking
from drills.attacks.steps.rights import roots

ATTACK = roots(
    knocking(
        Knock("init_module", 175, 105, (0, 0, "")),  # an image of no bytes
        Knock("finit_module", 313, 273, (-1, "", 0)),  # no file
        Knock("delete_module", 176, 106, ("fettle-no-such-module", 0)),
        expects="each is refused before the kernel looks at it",
        control=Bare(root=True),
    )
)
