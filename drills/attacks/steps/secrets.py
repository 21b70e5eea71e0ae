"""Finding a secret by its first letters and the digest of the whole, never by the secret itself."""

from __future__ import annotations

from typing import Any


def holds(given: dict[str, Any], data: bytes) -> bool:
    """Whether the secret is in `data`: a probe's own copy of its first letters is none."""
    import hashlib
    import re

    start = "".join(given["start"]).encode()
    found = re.finditer(re.escape(start) + rb"[0-9a-f]{48}", data)
    return any(hashlib.sha256(each[0]).hexdigest() == given["digest"] for each in found)


def in_own_memory(given: dict[str, Any]) -> str | None:
    """Where in this process' memory the secret is; a region at a time, a GiB at most."""
    import os

    memory = os.open("/proc/self/mem", os.O_RDONLY)
    with open("/proc/self/maps") as file:
        regions = [line.split() for line in file]
    total = 0
    try:
        for place, rights, *_, name in regions:
            first, last = (int(each, 16) for each in place.split("-"))
            if rights[0] != "r" or last - first > 1 << 28 or total > 1 << 30 or name == "[vvar]":
                continue
            total += last - first
            try:
                data = os.pread(memory, last - first, first)
            except (OSError, OverflowError):
                continue
            if holds(given, data):
                return f"the secret in {last - first} bytes of its own memory ({name})"
    finally:
        os.close(memory)
    return None
