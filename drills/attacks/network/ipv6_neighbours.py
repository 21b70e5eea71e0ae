"""Looks for neighbours by IPv6, which needs no address given: link-local, all nodes of a link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    found = []
    # A link with an address of its own has neighbours who answer to "all nodes" (ff02::1). Nothing
    # is sent: on a link that is not the drill's own it would be to strangers.
    for name, link in (("if_inet6", 5), ("ipv6_route", 9)):
        try:
            with open(f"/proc/net/{name}") as file:
                rows = [line.split() for line in file]
        except OSError:
            continue
        found += [f"{row[0]} on {row[link]}" for row in rows if row[link] != "lo"]
    return f"addresses and routes: {', '.join(found)}" if found else None


def absent() -> str | None:
    addresses = Path("/proc/net/if_inet6")
    rows = addresses.read_text().splitlines() if addresses.exists() else []
    return None if any(row.split()[5] != "lo" for row in rows) else "it has no links with IPv6"


ATTACK = Attack(probe, expects="there is no link but loopback", absent=absent)
