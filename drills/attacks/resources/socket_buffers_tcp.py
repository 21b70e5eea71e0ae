"""Fills the buffers of TCP's sockets, as large as they grow and as large as one may wish them."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.memory import held_by_all
from sandbox.protocol import MIB, End, Limits


def probe(given: dict[str, Any]) -> str | None:
    import socket
    import time

    def pair(server: socket.socket, wished: int) -> list[socket.socket]:
        one = socket.socket()
        for each in (server, one) if wished else ():
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                each.setsockopt(socket.SOL_SOCKET, option, wished)
        one.connect(server.getsockname())
        return [one, server.accept()[0]]

    def fill(wished: int) -> int:
        held, more = 0, bytes(1 << 20)
        kept: list[socket.socket] = []
        server = socket.create_server(("127.0.0.1", 0))
        until = time.monotonic() + 5.0
        while len(kept) < 160 and held < given["each"] and time.monotonic() < until:
            for one in pair(server, wished):
                one.setblocking(False)
                kept.append(one)
                idle = 0
                while idle < 5:
                    try:
                        held += one.send(more)
                        idle = 0
                    except BlockingIOError:
                        idle += 1
                        time.sleep(0.001)
        for one in kept:
            one.detach()
        return held

    for wished in (4 << 20, 0):
        held = held_by_all(6, fill, wished)
        if held >= given["enough"]:
            return f"{held >> 20} MiB in TCP's sockets, of {wished} bytes by wish"
    return None


ATTACK = Attack(
    probe,
    expects="they hold no multiple of the memory limit: their buffers stay small, and are counted",
    limits=Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB),
    given={"each": 48 * MIB, "enough": 192 * MIB},
    ends=frozenset({End.MEMORY}),
    uses=(held_by_all,),
    alone=True,
)
