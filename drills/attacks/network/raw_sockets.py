"""Makes packets by hand: raw sockets of IPv4 and IPv6."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import socket

    for family in (socket.AF_INET, socket.AF_INET6):
        for protocol in (socket.IPPROTO_RAW, socket.IPPROTO_ICMP, socket.IPPROTO_UDP, 58):
            try:
                socket.socket(family, socket.SOCK_RAW, protocol).close()
            except OSError:
                continue
            return f"a raw socket of {family.name}, protocol {protocol}"
    return None


ATTACK = Attack(
    probe,
    expects="none can be made",
    control=Bare(root=True, within=("--net",)),
)
