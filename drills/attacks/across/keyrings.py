"""Leaves a key in the user's keyring, which outlives every process of that user."""

from __future__ import annotations

import os
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import after

NUMBERS = {"x86_64": (248, 250, 249), "aarch64": (217, 219, 218)}
"""add_key, keyctl, request_key."""


def plant(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    add, ctl, _ = given["numbers"][os.uname().machine]
    for ring in (-4, -5, -3):  # of the user, of the user's sessions, of this session
        key = libc.syscall(add, b"user", given["mark"].encode(), b"left", 4, ring)
        if key > 0:
            libc.syscall(ctl, 5, key, 0x3F3F3F3F)  # every right to everybody
            libc.syscall(ctl, 15, key, 60)  # it expires by itself
    return None


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    _, ctl, request = given["numbers"][os.uname().machine]
    name = given["mark"].encode()
    for ring in (-4, -5, -3):
        key = libc.syscall(ctl, 10, ring, b"user", name, 0)
        if key > 0:
            libc.syscall(ctl, 9, key, ring)
            return f"an earlier run's key in keyring {ring}"
    if libc.syscall(request, b"user", name, None, 0) > 0:
        return "an earlier run's key, on request"
    try:
        with open("/proc/keys") as file:
            return "an earlier run's key in /proc/keys" if given["mark"] in file.read() else None
    except OSError:
        return None


def absent() -> str | None:
    return None if os.path.exists("/proc/keys") else "this kernel keeps no keys"


ATTACK = Attack(
    probe,
    expects="no run can keep a key, or find one",
    given={"numbers": NUMBERS},
    drive=after(plant),
    absent=absent,
)
