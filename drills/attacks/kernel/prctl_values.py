"""Passes every other option to prctl: filters, the memory map, tracing, core scheduling."""

from __future__ import annotations

from drills.attacks.steps.values import NOWHERE, Numbers, beside, enumerated
from sandbox.allowed_arguments import PRCTL, numbers

_NAMED = numbers(PRCTL)
_PTRACER = 0x5961_6D61
_TRIED = sorted({*range(128), _PTRACER, *beside(_NAMED, 8)} - {*_NAMED})

ATTACK = enumerated(
    Numbers(157, 167),
    ((each, NOWHERE, NOWHERE, NOWHERE, NOWHERE) for each in _TRIED),
    shown=slice(0, 1),
    # An option that a kernel lacks is answered as the filter answers: there is nothing to reach.
    refused=("EINVAL", "EPERM"),
    on_its_own=True,
)
