"""Lists processes: all but itself and those that it descends from are someone else's."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.processes import ancestors, visible


def probe(given: dict[str, Any]) -> str | None:
    import os

    strangers = sorted(set(visible()) - ancestors())
    if strangers:
        return f"{len(strangers)} processes of others, such as {strangers[:5]}"
    # A `/proc` that hides them may still answer for a number.
    for pid in (given["pid"], os.getpid() + 1, *range(2, 4096)):
        if pid not in ancestors() and os.path.exists(f"/proc/{pid}/status"):
            return f"an unlisted process: {pid}"
    return None


ATTACK = Attack(
    probe,
    expects="it sees itself, and what it descends from in the room",
    uses=(ancestors, visible),
)
