"""Looks for a place to change code that runs outside of its own process: agent, library, main."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Baseline


def probe(given: dict[str, Any]) -> str | None:
    import os
    import sys
    import sysconfig

    places = {*sys.path, *sysconfig.get_paths().values(), "/room", "/room/sandbox", "/usr/bin"}
    places |= {os.path.dirname(sys.executable), sys.prefix, sys.base_prefix, "/etc", "/"}
    own = (os.getcwd(), "/tmp")
    others = [place for place in places if place and not os.path.realpath(place).startswith(own)]
    found = sorted(place for place in others if os.access(place, os.W_OK))
    return f"can be written: {found}" if found else None


ATTACK = Attack(
    probe,
    expects="everything that others execute is read-only",
    control=Baseline(host_root=True),
)
