"""Looks for neighbours by IPv6, which needs no address given: link-local, all nodes of a link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import socket

    try:
        with open("/proc/net/if_inet6") as file:
            rows = [line.split() for line in file]
    except OSError:
        rows = []
    own = [f"{row[0]} on {row[5]}" for row in rows if row[5] != "lo"]
    if own:
        return f"addresses {', '.join(own)}"
    for index, _ in socket.if_nameindex():
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as loose:
            loose.settimeout(0.5)
            try:  # only loopback is left: what is sent stays in the room
                loose.sendto(
                    given["mark"].encode(), ("ff02::1", given["servers"]["udp"][1], 0, index)
                )
                return f"all nodes answered {len(loose.recv(100))} bytes"
            except OSError:
                continue
    return None


def absent() -> str | None:
    with_ipv6 = Path("/proc/net/if_inet6")
    if with_ipv6.exists() and any(
        not row.endswith(" lo") for row in with_ipv6.read_text().split("\n") if row
    ):
        return None
    return "it has no IPv6 but on its loopback"


ATTACK = Attack(probe, expects="there is no link but loopback", absent=absent)
