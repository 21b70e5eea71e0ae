"""Makes namespaces of every other kind: mount, process, network, ipc, host name, cgroup, time."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call

KINDS = {
    "mount": 0x20000,
    "cgroup": 0x2000000,
    "uts": 0x4000000,
    "ipc": 0x8000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "time": 0x80,
}


def probe(given: dict[str, Any]) -> str | None:
    import os

    number = 97 if os.uname().machine == "aarch64" else 272
    made = [
        name
        for name, flag in given["kinds"].items()
        if apart(lambda: call(number, flag)) == 0  # noqa: B023  (called at once)
    ]
    return f"namespaces of its own: {', '.join(made)}" if made else None


ATTACK = Attack(
    probe,
    expects="none can be made",
    control=Bare(root=True, within=("--uts",)),
    given={"kinds": KINDS},
    uses=(call, apart),
)
