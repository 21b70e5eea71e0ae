"""Writes where programs and libraries lie: the system, the interpreter, its packages, `/etc`."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.planting import PLANTED, bound, planting

PLACES = (
    "/mnt",
    "/srv",
    "/usr/lib",
    "/",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/lib",
    "/bin",
    "/lib",
    "/etc",
    "/opt",
)
MORE = (
    "/opt/venv",
    "/room",
    "/room/sandbox",
    "/var",
    "/var/lib",
    "/home",
    "/root",
    "/sys",
    "/proc/self",
    "/dev",
)


def probe(given: dict[str, Any]) -> str | None:
    import os
    import sys
    import sysconfig

    if given["plant"]:
        bound(given, os.getcwd(), next(each for each in given["places"] if os.path.isdir(each)))
    own = [each for each in (*sys.path, *sysconfig.get_paths().values()) if each.startswith("/")]
    mine = ("/work", "/tmp", "/run")
    for place in (*given["places"], *own, *given["more"]):
        if os.path.realpath(place) in mine or not os.path.isdir(place):
            continue
        path = f"{place}/{given['mark']}"
        for make, drop in ((os.mknod, os.unlink), (os.mkdir, os.rmdir)):
            try:
                make(path)
            except OSError:
                continue
            drop(path)
            return f"a new name in {place}"
    for module in (os.__file__, sys.executable, sysconfig.__file__, "/etc/passwd", "/etc/hosts"):
        try:
            os.close(os.open(os.path.realpath(module), os.O_WRONLY))  # opened, and left as it is
            return f"{module} open for writing"
        except OSError:
            continue
    return None


ATTACK = Attack(
    probe,
    expects="all of it is read-only; a room writes in its work area and temporary folders alone",
    given={"places": PLACES, "more": MORE},
    uses=(bound,),
    drive=planting,
    control=PLANTED,
)
