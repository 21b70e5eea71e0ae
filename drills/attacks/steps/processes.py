"""Processes that a probe can see, and those among them that are its own."""

from __future__ import annotations


def ancestors() -> set[int]:
    """This process, and those that it descends from, as far as they can be seen."""
    import os

    found, pid = set(), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:
                pid = int(file.read().rpartition(b")")[2].split()[1])
        except OSError:
            break
    return found


def visible() -> list[int]:
    """Every process that `/proc` lists."""
    import os

    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
