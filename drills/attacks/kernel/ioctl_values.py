"""Passes to ioctl the requests around those that are named, and those of other drivers."""

from __future__ import annotations

from drills.attacks.steps.values import NOWHERE, Numbers, beside, enumerated
from sandbox.allowed_arguments import IOCTL, numbers

_NAMED = numbers(IOCTL)
# Disks, terminals' consoles, network devices, namespaces, KVM: linux/ioctl/ioctl-number.rst.
_DRIVERS = (0x0200, 0x1200, 0x4B00, 0x5300, 0x5400, 0x5600, 0x8900, 0x8B00, 0xAE00, 0xB700)
_OTHERS = {base + each for base in _DRIVERS for each in range(256)}
_TRIED = sorted({*beside(_NAMED, 64), *_OTHERS} - {*_NAMED})

ATTACK = enumerated(
    Numbers(16, 29),
    ((NOWHERE, each, 0) for each in _TRIED),
    shown=slice(1, 2),
    refused=("ENOTTY", "EPERM"),
)
