"""Socket families: which of them a process is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from drills.attacks.attack import Attack, Baseline

PROTOCOLS = Path("/proc/net/protocols")


def family(given: dict[str, Any]) -> str | None:
    """The probe: a socket of one of the families in `given`, of any type."""
    import socket

    made = []
    for name, number in given["families"].items():
        for kind in (1, 2, 3, 5):  # stream, datagram, raw, sequenced packets
            for make in (socket.socket, socket.socketpair):
                try:
                    got = make(number, kind)
                except OSError:
                    continue
                for each in got if isinstance(got, tuple) else (got,):
                    each.close()
                made.append(name)
    return f"sockets of {', '.join(dict.fromkeys(made))}" if made else None


def unloaded(word: str) -> Callable[[], str | None]:
    """Absent where the kernel has not loaded it: no control loads what lies there unused."""

    def absent() -> str | None:
        rows = PROTOCOLS.read_text().splitlines() if PROTOCOLS.exists() else []
        if any(row.startswith(word) for row in rows):
            return None
        return f"its kernel has no sockets of {word} loaded"

    return absent


def refused(families: Mapping[str, int], word: str) -> Attack:
    """An attack that asks for a socket of one family; `word`: its start in /proc/net/protocols."""
    return Attack(
        family,
        expects="none can be made",
        given={"families": dict(families)},
        control=Baseline(root=True, unshare=("--net",)),
        absent=unloaded(word),
    )
