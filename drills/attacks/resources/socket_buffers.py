"""Fills the buffers of sockets in several processes: kernel memory that no process has."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import os
    import signal
    import socket
    import time

    def fill() -> int:
        held, kept = 0, []
        try:
            for _ in range(110):
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

    read, write = os.pipe()
    pids = []
    for _ in range(6):
        pid = os.fork()
        if pid == 0:
            os.write(write, fill().to_bytes(8, "big"))
            signal.pause()
        pids.append(pid)
    os.close(write)
    held = sum(int.from_bytes(os.read(read, 8), "big") for _ in pids)
    time.sleep(0.4)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return f"{held >> 20} MiB in sockets" if held >= given["enough"] else None


ATTACK = Attack(
    probe,
    expects="sockets hold no multiple of the memory limit: it counts them, or the run is ended",
    limits=Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB),
    given={"enough": 256 * MIB},
    ends=frozenset({End.MEMORY, End.DISK}),
    alone=True,
)
