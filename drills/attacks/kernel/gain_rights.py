"""Becomes root, or gains capabilities: setuid and its kin, capset, securebits, ambient rights."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    capset = 91 if os.uname().machine == "aarch64" else 126
    version, admin = 0x20080522, 1 << 12  # CAP_NET_ADMIN
    securebits, keep_caps, ambient, raise_it = 28, 1 << 4, 47, 2

    def done(act: Any) -> int:
        act()
        return 1

    def heritable() -> bool:
        return call(capset, [version], [admin | admin << 32, admin, 0]) == 0

    ways: dict[str, Any] = {
        "setuid": lambda: done(lambda: os.setuid(0)),
        "setgid": lambda: done(lambda: os.setgid(0)),
        "setresuid": lambda: done(lambda: os.setresuid(0, 0, 0)),
        "setgroups": lambda: done(lambda: os.setgroups([0])),
        "capset": lambda: call(capset, [version], [admin | admin << 32, 0, 0]) == 0,
        "securebits": lambda: libc.prctl(securebits, keep_caps, 0, 0, 0) == 0,
        "ambient": lambda: heritable() and libc.prctl(ambient, raise_it, 12, 0, 0) == 0,
    }
    passed = [way for way, act in ways.items() if (apart(act) or 0) > 0]
    with open("/proc/self/status") as file:
        held = [line.split()[1] for line in file if line.startswith(("CapEff", "CapPrm", "CapBnd"))]
    if passed or int(held[0], 16) or int(held[1], 16):
        return f"{', '.join(passed) or 'capabilities'}, with {held}"
    return None


ATTACK = Attack(
    probe,
    expects="it stays who it is, without capabilities",
    control=Bare(root=True),
    uses=(call, apart),
)
