"""Uses the kernel's ciphers, a part with a history of holes: AF_ALG."""

from __future__ import annotations

from drills.attacks.steps.families import refused

ATTACK = refused({"AF_ALG": 38}, "ALG")
