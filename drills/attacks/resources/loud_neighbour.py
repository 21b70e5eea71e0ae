"""Bombs of five kinds at once, in rooms of their own, beside a run that minds its business."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.judges import broken, held, reached
from drills.attacks.scene import Scene
from drills.attacks.seen import Report, Seen, Verdict
from sandbox.protocol import MIB, Limits

KINDS = ("forks", "memory", "output", "files", "spin")
QUIET = Limits(wall_seconds=20.0)
SLOWER = 10.0
"""Times its own time alone, and 3 s, is what the neighbour may take: there are as many bombs as
that, and one processor may be all there is."""


def probe(given: dict[str, Any]) -> str | None:
    import os
    import time

    until = time.monotonic() + 4
    if given["kind"] == "memory":
        kept: list[bytearray] = []
        while time.monotonic() < until and len(kept) < 256:
            kept.append(bytearray(b"x") * (1 << 20))
    elif given["kind"] == "files":
        for number in range(30_000):
            os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
    made = 0
    while time.monotonic() < until:
        if given["kind"] == "forks" and made < 500:
            try:
                if os.fork() == 0:
                    time.sleep(max(0.0, until - time.monotonic()))
                    os._exit(0)
                made += 1
            except OSError:
                time.sleep(0.01)
        elif given["kind"] == "output":
            os.write(1, b"x" * 65_536)
        elif given["kind"] != "spin":
            time.sleep(0.01)
    return None


def neighbour(given: dict[str, Any]) -> str | None:
    import os
    import threading

    kept = bytearray(b"x") * (32 << 20)
    pids = []
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            os._exit(7)
        pids.append(pid)
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 7 for pid in pids):
        return None
    thread = threading.Thread(target=kept.count, args=(b"x",))
    thread.start()
    thread.join()
    with open("mine", "wb") as file:
        file.write(kept[: 8 << 20])
    return f"fine: {sum(range(1_000_000))} {os.path.getsize('mine')}"


async def drive(scene: Scene) -> Seen:
    alone = await scene.run(neighbour, limits=QUIET)
    bombs = [asyncio.ensure_future(scene.run(given={"kind": kind})) for kind in KINDS]
    await asyncio.sleep(1.0)
    limits = replace(QUIET, processes=4) if scene.is_control else QUIET
    meanwhile = await replace(scene, mark=f"{scene.mark}-n").run(neighbour, limits=limits)
    ends = [(await bomb).result.end.value for bomb in bombs]
    notes = {"alone": alone, "ends": dict(zip(KINDS, ends, strict=True))}
    return replace(meanwhile, notes=notes)


def judge(seen: Seen) -> Verdict:
    alone: Seen = seen.notes["alone"]
    fine = Report(reached="fine: 499999500000 8388608")
    if alone.report != fine:
        return broken(f"the neighbour alone: {alone.report} {alone.result.end}")
    if seen.report != fine:
        return reached(f"the neighbour: {seen.report}, {seen.result.end}")
    if seen.seconds > SLOWER * alone.seconds + 3:
        return reached(f"the neighbour took {seen.seconds:.1f} s, alone {alone.seconds:.1f} s")
    return held(f"{alone.seconds:.2f} s alone, {seen.seconds:.2f} s beside {seen.notes['ends']}")


ATTACK = Attack(
    probe,
    expects="the neighbour does all it does alone, and not much slower",
    limits=Limits(wall_seconds=8.0, processes=32, memory_bytes=64 * MIB),
    drive=drive,
    judge=judge,
    control=Instead(probe),
    alone=True,
)
