"""Connects to a run that goes on at the same time, by a socket with an abstract name."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import beside, ready


def holder(given: dict[str, Any]) -> str | None:
    import socket

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{given['theirs']}")
        server.listen()
        server.settimeout(given["seconds"])
        ready(given)
        try:
            server.accept()
            return "a neighbour has connected"
        except TimeoutError:
            return None


def probe(given: dict[str, Any]) -> str | None:
    import socket

    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as client:
                client.settimeout(1)
                client.connect(f"\0{given['theirs']}")
                return "connected to a neighbour's socket"
        except OSError:
            continue
    try:
        with open("/proc/net/unix") as file:
            return "a neighbour's socket is listed" if given["theirs"] in file.read() else None
    except OSError:
        return None


ATTACK = Attack(
    probe,
    expects="abstract names belong to a network namespace, and each run has one",
    uses=(ready,),
    drive=beside(holder),
)
