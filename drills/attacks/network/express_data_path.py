"""Takes packets from a network card's own queues: AF_XDP."""

from __future__ import annotations

from drills.attacks.steps.families import refused

ATTACK = refused({"AF_XDP": 44}, "XDP")
