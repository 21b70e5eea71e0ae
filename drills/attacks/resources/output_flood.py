"""Floods standard output and standard error, faster than anyone reads."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.judges import held, reached
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen, Verdict
from sandbox.protocol import MIB, End, Limits

KEPT = 16 * 1024
GROWTH = 48 * MIB
"""What the host's process may grow by; the flood is four times as much."""


def probe(given: dict[str, Any]) -> str | None:
    import os

    for fd in (1, 2):
        if os.fork() == 0:
            for _ in range(given["mib"]):
                os.write(fd, b"flood \x1b[2J" * 100_000)
            os._exit(0)
    for _ in (1, 2):
        os.wait()
    return f"wrote {2 * given['mib']} MB"


def resident() -> int:
    """Memory of this process, in bytes."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def drive(scene: Scene) -> Seen:
    before = most = resident()
    run = asyncio.ensure_future(scene.run())
    while not run.done():
        most = max(most, resident())
        await asyncio.sleep(0.01)
    return replace(await run, notes={"growth": most - before})


def judge(seen: Seen) -> Verdict:
    result = seen.result
    kept = [len(each.text.encode()) for each in (result.stdout, result.stderr)]
    if result.end is not End.OUTPUT:
        return reached(f"it ended as {result.end}: {seen.report}")
    if max(kept) > 3 * KEPT + 100:  # a byte that is no text becomes three
        return reached(f"{max(kept)} bytes of an output were kept")
    if seen.notes["growth"] > GROWTH:
        return reached(f"the host's process grew by {seen.notes['growth']} bytes")
    return held(f"{kept} bytes kept, the host grew by {seen.notes['growth']} bytes")


ATTACK = Attack(
    probe,
    expects="the run is ended for its output; little is kept; the host's memory stays flat",
    limits=Limits(output_bytes=KEPT, wall_seconds=30.0),
    given={"mib": 100},
    drive=drive,
    judge=judge,
    alone=True,
)
