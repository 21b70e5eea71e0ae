"""Looks for sockets of the host's services: container engine, message bus, key agent, display."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack

TOPS = ("/run", "/var/run", "/tmp", "/var/tmp", "/work", "/room", "/home", "/root", "/dev", "/srv")


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat
    import time

    # Found by name, not spoken to: what a stranger's service does when it is called is its affair.
    until = time.monotonic() + 8
    for top in given["tops"]:
        for folder, _, files in os.walk(top):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if stat.S_ISSOCK(os.lstat(path).st_mode):
                        return f"a socket: {path}"
                except OSError:
                    continue
            if time.monotonic() > until:
                break
    try:
        with open("/proc/net/unix") as file:
            named = [line.split()[7] for line in file if len(line.split()) > 7][1:]
    except OSError:
        named = []
    return f"sockets of this network namespace: {named[:3]}" if named else None


ATTACK = Attack(
    probe,
    expects="no socket lies where a room can see it",
    given={"tops": TOPS},
)
