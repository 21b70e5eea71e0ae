"""Loads programs and maps into the kernel: bpf."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

ATTACK = knocking(
    Knock("bpf", 321, 280, (0, 0, 1 << 20)),  # BPF_MAP_CREATE, told to be larger than a page
    expects="it is refused before the kernel looks at it",
    control=Bare(root=True),
)
