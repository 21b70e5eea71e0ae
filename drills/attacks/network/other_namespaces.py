"""Enters the network of another process by its `/proc/PID/ns/net`, and connects from there."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import os
    import socket

    number = 268 if os.uname().machine == "aarch64" else 308

    def enter(space: int) -> int:
        if call(number, space, 0x40000000) < 0:
            return 0
        try:
            with socket.create_connection(("127.0.0.1", given["servers"]["tcp"][1]), 2) as link:
                link.sendall(given["mark"].encode())
                return 2
        except OSError:
            return 1

    for pid in dict.fromkeys((given["pid"], os.getppid(), 1, os.getpid())):
        try:
            space = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        except OSError:
            continue
        entered = apart(lambda: enter(space))  # noqa: B023  (called at once)
        if entered:
            return f"the network of process {pid}" + " and its host's loopback" * (entered == 2)
    return None


ATTACK = Attack(
    probe,
    expects="none can be entered",
    control=Bare(root=True, within=("--net",)),
    uses=(call, apart),
)
