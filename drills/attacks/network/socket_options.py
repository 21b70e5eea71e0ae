"""Sets what only a network's owner may set on a socket: marks, transparency, repair, a device."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import socket

    force_buffer, mark, transparent, repair = 33, 36, 19, 19
    options = {
        "SO_MARK": (socket.SOL_SOCKET, mark, 7),
        "SO_RCVBUFFORCE": (socket.SOL_SOCKET, force_buffer, 1 << 26),
        "SO_PRIORITY": (socket.SOL_SOCKET, socket.SO_PRIORITY, 7),
        "IP_TRANSPARENT": (socket.IPPROTO_IP, transparent, 1),
        "TCP_REPAIR": (socket.IPPROTO_TCP, repair, 1),
    }
    passed = []
    for name, (level, option, value) in options.items():
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as link:
            try:
                link.setsockopt(level, option, value)
                passed.append(name)
            except OSError:
                continue
    for name in (each for _, each in socket.if_nameindex() if each != "lo"):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            try:
                loose.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, name.encode() + b"\0")
                passed.append(f"SO_BINDTODEVICE to {name}")
            except OSError:
                continue
    return ", ".join(passed) or None


ATTACK = Attack(
    probe,
    expects="each is refused, and there is no device to be bound to",
    control=Bare(root=True, within=("--net",)),
)
