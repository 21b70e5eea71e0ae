"""Fills the buffers of sockets in several processes: kernel memory that no process has."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.memory import held_by_all
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import socket

    def fill() -> int:
        held, kept = 0, []
        try:
            for _ in range(110):
                if held >= given["each"]:
                    break  # proof enough, on a machine that allows large buffers
                pair = socket.socketpair()
                kept.append(pair)
                for one in pair:
                    one.setblocking(False)
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                    try:
                        while True:
                            held += one.send(bytes(65_536))
                    except BlockingIOError:
                        continue
        except OSError:
            pass
        for pair in kept:
            for one in pair:
                one.detach()
        return held

    held = held_by_all(6, fill)
    return f"{held >> 20} MiB in sockets" if held >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="sockets hold no multiple of the memory limit: it counts them, or the run is ended",
    limits=Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB),
    given={"enough": 256 * MIB, "each": 64 * MIB},
    ends=frozenset({End.MEMORY, End.DISK}),
    uses=(held_by_all,),
    alone=True,
)
