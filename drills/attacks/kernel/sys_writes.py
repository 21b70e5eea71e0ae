"""Opens for writing whatever it can of `/sys`: devices, kernel settings, firmware, modules."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.rights import roots


def probe(given: dict[str, Any]) -> str | None:
    import itertools
    import os

    # Opened and closed, nothing is written.
    places = itertools.chain(*(os.walk(f"/sys/{each}") for each in ("kernel", "module", "class")))
    paths = (f"{folder}/{name}" for folder, _, names in places for name in names)
    first = ("/sys/power/state", "/sys/kernel/uevent_helper", "/sys/kernel/mm/ksm/run")
    for path in itertools.chain(first, itertools.islice(paths, 5_000)):
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError:
            continue
        return path
    return None


ATTACK = roots(Attack(probe, expects="none of them opens for writing", control=Bare(root=True)))
