"""Takes all that its user may have of inotify and epoll, so that a neighbour gets none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.drives import beside
from drills.attacks.judges import held, reached
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen, Verdict


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import time

    libc = ctypes.CDLL(None, use_errno=True)
    made = 0
    while made < 250 and libc.inotify_init1(0) >= 0:
        made += 1
    time.sleep(3)
    return None


def neighbour(given: dict[str, Any]) -> str | None:
    import ctypes
    import select

    libc = ctypes.CDLL(None, use_errno=True)
    select.epoll().close()
    return "it has inotify" if libc.inotify_init1(0) >= 0 else "it has none"


async def drive(scene: Scene) -> Seen:
    alone, meanwhile, attack = await beside(scene, neighbour, settle=1.0)
    return replace(attack, notes={"alone": alone.report, "meanwhile": meanwhile.report})


def judge(seen: Seen) -> Verdict:
    if seen.notes["alone"] != seen.notes["meanwhile"]:
        return reached(f"the neighbour: {seen.notes['alone']} before, {seen.notes['meanwhile']}")
    return held()


ATTACK = Attack(
    probe,
    expects="a neighbour has what it has without the attack",
    drive=drive,
    judge=judge,
    alone=True,
)
