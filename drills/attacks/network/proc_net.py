"""Looks through `/proc/net` for sockets and links of the host."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack


def probe(given: dict[str, Any]) -> str | None:
    import os

    servers = given["servers"]
    traces = {
        "tcp": f":{servers['tcp'][1]:04X} ",
        "udp": f":{servers['udp'][1]:04X} ",
        "unix": servers["abstract"].replace("\0", "@"),
        "dev": " lan0:",
    }
    for place in ("/proc/net", "/proc/1/net", f"/proc/{os.getppid()}/net"):
        for name, trace in traces.items():
            try:
                with open(f"{place}/{name}") as file:
                    if trace in file.read():
                        return f"{place}/{name} tells of {trace.strip()}"
            except OSError:
                continue
    return None


ATTACK = Attack(probe, expects="it tells of the room's own alone")
