"""Lays a filter that allows everything over the room's own, and tries again what that refuses."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import apart, call


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import errno
    import os
    import struct

    libc = ctypes.CDLL(None, use_errno=True)
    arm = os.uname().machine == "aarch64"
    seccomp, unshare, umount, ptrace = (277, 97, 39, 117) if arm else (317, 272, 166, 101)
    no_new_privs, set_seccomp, filters = 38, 22, 1
    allow = ctypes.create_string_buffer(struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000))
    program = ctypes.create_string_buffer(struct.pack("=HxxxxxxQ", 1, ctypes.addressof(allow)))

    def again() -> int:
        libc.prctl(set_seccomp, 0, 0, 0, 0)  # off
        libc.prctl(no_new_privs, 1, 0, 0, 0)
        call(seccomp, filters, 0, program)
        knocks = ((umount, "/nonexistent", -1), (ptrace, -1, 0, 0, 0), (unshare, 0))
        return sum(call(*each) not in {-errno.EPERM, -errno.ENOSYS} for each in knocks)

    passed = apart(again)
    return f"{passed} calls that should be refused" if passed else None


ATTACK = Attack(probe, expects="what was refused is refused", uses=(call, apart))
