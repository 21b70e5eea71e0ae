"""Passes every other option of every level to setsockopt: filters, TCP's upper layers, marks."""

from __future__ import annotations

import socket

from drills.attacks.steps.values import NOWHERE, Numbers, enumerated
from sandbox.allowed_arguments import IGNORED_SETSOCKOPT, numbers, options

_NAMED = {(level, option) for level, these in options().items() for option in these}
_NAMED |= {(socket.SOL_SOCKET, option) for option in numbers((IGNORED_SETSOCKOPT,))}
_TRIED = [
    pair for level in range(300) for option in range(96) if (pair := (level, option)) not in _NAMED
]

ATTACK = enumerated(
    Numbers(54, 208),
    ((NOWHERE, *pair, 0, 0) for pair in _TRIED),
    shown=slice(1, 3),
    refused=("ENOPROTOOPT", "EPERM"),
)
