"""Reads the kernel's log: other people's programs, addresses and disks are in it."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.planting import PLANTED, bound, planting


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os

    if given["plant"]:
        with open("log", "wb") as file:
            file.write(b"6,1,1,-;a line of the log\n")
        bound(given, os.path.abspath("log"), "/dev/kmsg")
    for name in ("/dev/kmsg", "/var/log/kern.log", "/var/log/dmesg", "/var/log/syslog"):
        try:
            log = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
            if line := os.read(log, 8192):
                return f"{len(line)} bytes of {name}"
        except OSError:
            continue
    try:
        os.close(os.open("/proc/kmsg", os.O_RDONLY | os.O_NONBLOCK))  # reading would consume
        return "/proc/kmsg open"
    except OSError:
        pass
    text = ctypes.create_string_buffer(4096)
    size = ctypes.CDLL(None, use_errno=True).klogctl(3, text, len(text))
    return f"{size} bytes by syslog(2)" if size > 0 else None


ATTACK = Attack(
    probe,
    expects="no way to the log",
    uses=(bound,),
    drive=planting,
    control=PLANTED,
)
