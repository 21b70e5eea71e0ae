"""Deletes a thousand files that were laid, puts folders, links and pipes in their places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict

if TYPE_CHECKING:
    from drills.attacks.context import Context

FILES = {f"d{number % 20}/{number}.txt": b"laid\n" for number in range(900)}


def probe(given: dict[str, Any]) -> str | None:
    import os
    import shutil

    for name in sorted(os.listdir(".")):
        shutil.rmtree(name)
    os.mkdir("d1")
    for number in range(1, 900, 20):
        place = f"d1/{number}.txt"
        kinds = (os.mkdir, os.mkfifo, lambda at: os.symlink("/etc/passwd", at))
        kinds[number % 3](place)
    os.symlink("d1", "d2")
    return None


async def drive(context: Context) -> Observation:
    seen = await context.run()
    return replace(seen, notes={"missed": len(FILES) - len(seen.result.deleted & FILES.keys())})


def judge(seen: Observation) -> Verdict:
    made_up = seen.result.deleted - FILES.keys()
    if made_up:
        return reached(f"told as deleted, though never laid: {sorted(made_up)[:3]}")
    if seen.notes["missed"]:
        return reached(f"{seen.notes['missed']} deletions were not told")
    if seen.result.changed:
        return reached(f"came home: {sorted(seen.result.changed)[:3]}")
    return reported(seen)


ATTACK = Attack(
    probe,
    expects="just the files that were laid are told as deleted; a link is no file",
    files=FILES,
    drive=drive,
    judge=judge,
)
