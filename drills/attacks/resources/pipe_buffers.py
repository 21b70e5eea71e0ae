"""Fills pipes of the largest size in several processes: kernel memory that no process has."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.memory import held_by_all
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import fcntl
    import os

    def fill() -> int:
        held = 0
        for _ in range(80):
            try:
                _, write = os.pipe2(os.O_NONBLOCK)
                fcntl.fcntl(write, 1031, 1 << 20)  # F_SETPIPE_SZ
            except OSError:
                pass
            try:
                while True:
                    held += os.write(write, bytes(65_536))
            except OSError:
                continue
        return held

    held = held_by_all(4, fill)
    return f"{held >> 20} MiB in pipes" if held >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="pipes hold less than twice the memory limit: the kernel bounds those of one user",
    limits=Limits(memory_bytes=64 * MIB),
    given={"enough": 128 * MIB},
    ends=frozenset({End.MEMORY}),
    uses=(held_by_all,),
    control=Bare(host_root=True),
    alone=True,
)
