"""Learns the host's users: accounts, password hashes, homes, who may become root."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.outcome import Observation

if TYPE_CHECKING:
    from drills.attacks.context import Context

_FILES = (
    "/etc/passwd",
    "/etc/group",
    "/etc/subuid",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/fstab",
)


def probe(given: dict[str, Any]) -> str | None:
    import hashlib
    import os
    import sys

    for path in ("/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key"):
        try:
            with open(path, "rb") as file:
                if size := len(file.read()):
                    return f"{size} bytes of {path}"
        except OSError:
            continue
    for path, digest in given["digests"].items():
        try:
            with open(path, "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() == digest:
                    return f"the host's own {path}"
        except OSError:
            continue
    for place in ("/home", "/root", "/var/spool/cron", "/var/mail", "/var/log"):
        try:
            inside = set(os.listdir(place)) & set(given["inside"].get(place, []))
        except OSError:
            continue
        # The interpreter itself lies where it lies on the host, which may be in a home.
        inside -= {sys.base_prefix.removeprefix(f"{place}/").partition("/")[0]}
        if inside:
            return f"in {place} as on the host: {sorted(inside)[:3]}"
    return None


def _told() -> dict[str, Any]:
    texts = {path: Path(path).read_bytes() for path in _FILES if Path(path).exists()}
    digests = {path: hashlib.sha256(data).hexdigest() for path, data in texts.items() if data}
    inside = {place: _names(place) for place in ("/home", "/root", "/var/spool/cron", "/var/mail")}
    return {"digests": digests, "inside": inside}


async def drive(context: Context) -> Observation:
    return await context.run(given=_told())


def _names(place: str) -> list[str]:
    try:
        return os.listdir(place)
    except OSError:
        return []


ATTACK = Attack(
    probe,
    expects="one account, made up",
    drive=drive,
)
