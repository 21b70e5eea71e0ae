"""Connects to a run that goes on at the same time, by a port of loopback."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready

FIRST, LAST = 42_100, 42_140


def holder(given: dict[str, Any]) -> str | None:
    import socket

    with socket.socket() as server:
        for port in range(given["first"], given["last"]):
            try:
                server.bind(("127.0.0.1", port))
                break
            except OSError:
                continue
        server.listen()
        server.settimeout(given["seconds"])
        ready(given)
        try:
            peer, _ = server.accept()
            peer.sendall(given["theirs"].encode())
            return "a neighbour has connected"
        except TimeoutError:
            return None


def probe(given: dict[str, Any]) -> str | None:
    import socket

    # Only a server that answers with the neighbour's mark is the neighbour's.
    for port in range(given["first"], given["last"]):
        try:
            with socket.create_connection(("127.0.0.1", port), 0.5) as client:
                if client.recv(100).decode(errors="replace") == given["theirs"]:
                    return f"a neighbour answered at port {port}"
        except OSError:
            continue
    return None


ATTACK = Attack(
    probe,
    expects="each run has a loopback of its own",
    given={"first": FIRST, "last": LAST},
    uses=(ready,),
    drive=beside(holder),
)
