"""Whose rights a control has."""

from __future__ import annotations

import os
from dataclasses import replace

from drills.attacks.attack import Attack, Baseline


def roots(attack: Attack) -> Attack:
    """The same, for what only the machine's own root may do: nobody else could show its control."""

    def absent() -> str | None:
        if os.geteuid() != 0:
            return "only root could do it, and the drill cannot show as another that it would see"
        return attack.absent()

    return replace(attack, absent=absent)


def own() -> Baseline:
    """A control with the drill's own rights: it may look into the process that keeps it."""
    return Baseline(root=os.geteuid() == 0)
