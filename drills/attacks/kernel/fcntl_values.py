"""Passes every other command to fcntl: leases, directory notes, locks of an open file, seals."""

from __future__ import annotations

from drills.attacks.steps.values import NOWHERE, Numbers, enumerated
from sandbox.allowed_arguments import FCNTL, numbers

_NAMED = numbers(FCNTL)
_TRIED = [each for each in (*range(128), *range(1000, 1152)) if each not in _NAMED]

ATTACK = enumerated(
    Numbers(72, 25),
    ((NOWHERE, each, 0) for each in _TRIED),
    shown=slice(1, 2),
    refused=("EINVAL", "EPERM"),
)
