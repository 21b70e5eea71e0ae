"""The system call filter of a container: the engine's form of the local backend's. Pure.

The same allow-list and the same conditions (`syscalls.py`, `conditions.py`), by name, because an
engine may run on another architecture than its worker. Two things differ. What a condition refuses
is answered with EPERM, as is what no list names: the engine's form knows one answer for both. And
Landlock is allowed, because here it goes on after the filter. A reviewer's copy is
deploy/seccomp-sandbox.json.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from typing import Any

from sandbox.seccomp import syscalls
from sandbox.seccomp.conditions import CONDITIONS, Condition, Where

_LANDLOCK = {"landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"}
_ARCHITECTURES = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")


def profile() -> dict[str, Any]:
    """The profile. No other architecture's calls: those of a 32-bit or x32 program kill it."""
    allowed = {name for machine in syscalls.MACHINES for name in syscalls.allowed(machine)}
    absent = {name for machine in syscalls.MACHINES for name in syscalls.absent(machine)}
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "archMap": [{"architecture": each, "subArchitectures": []} for each in _ARCHITECTURES],
        "syscalls": [
            {"names": sorted(allowed | _LANDLOCK), "action": "SCMP_ACT_ALLOW"},
            {"names": sorted(absent), "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            *_conditional(),
        ],
    }


def text() -> str:
    """The profile as an engine takes it in a security option."""
    return json.dumps(profile(), separators=(",", ":"))


def _conditional() -> Iterator[dict[str, Any]]:
    names: dict[Condition, list[str]] = {}
    for name, condition in CONDITIONS.items():
        names.setdefault(condition, []).append(name)
    for condition, alike in names.items():
        allow = {"names": alike, "action": "SCMP_ACT_ALLOW"}
        yield from ({**allow, "args": _arguments(places)} for places in condition.single())
        if condition.ignored:
            succeed = {"names": alike, "action": "SCMP_ACT_ERRNO", "errnoRet": 0}
            alone = Condition(0, (condition.ignored,))
            yield from ({**succeed, "args": _arguments(places)} for places in alone.single())


def _arguments(places: tuple[Where, ...]) -> list[dict[str, Any]]:
    return [_argument(place) for place in places]


def _argument(place: Where) -> dict[str, Any]:
    """Compared under its mask, which the engine calls `value`."""
    return {
        "index": place.index,
        "value": place.mask,
        "valueTwo": place.values[0],
        "op": "SCMP_CMP_MASKED_EQ",
    }
