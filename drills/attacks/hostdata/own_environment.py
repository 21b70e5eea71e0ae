"""Looks for the worker's keys in its own environment, as it is now and as it was at its start."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.secrets import holds

WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "FETTLE", "REDIS", "AWS", "CANARY")
PLACES = (
    "SSH_",
    "DBUS_",
    "DOCKER_",
    "XDG_RUNTIME",
    "GPG_",
    "KUBE",
    "VIRTUAL_ENV",
    "USER",
    "LOGNAME",
)


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("/proc/self/environ", "rb") as file:
        start = file.read()
    now = b"\0".join(name + b"=" + value for name, value in os.environb.items())
    if holds(given, start) or holds(given, now):
        return f"the canary in its environment, or {given['variable']} itself"
    for pair in (start + b"\0" + now).decode(errors="replace").split("\0"):
        name = pair.partition("=")[0].upper()
        if any(word in name for word in given["words"]) or name.startswith(tuple(given["places"])):
            return f"a variable of the worker's: {name}"
    return None


ATTACK = Attack(
    probe,
    expects="its environment is the policy's, a constant",
    given={"words": WORDS, "places": PLACES},
    uses=(holds,),
)
