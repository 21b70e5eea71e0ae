"""Leaves a process that writes, through shared memory, into a file of a run that has ended."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import broken, reached, reported
from drills.attacks.outcome import Kind, Observation, Verdict
from drills.attacks.steps.restless import restless

if TYPE_CHECKING:
    from drills.attacks.context import Context

ALLOWED_SECONDS, CONTROL_SECONDS = 2.0, 0.05
"""How long after the end something may still be written: a kill takes its time under load."""


def probe(given: dict[str, Any]) -> str | None:
    import mmap
    import os
    import struct
    import time

    with open("clock.bin", "w+b") as file:
        file.write(bytes(16))
        file.flush()
        shared = mmap.mmap(file.fileno(), 16)
    parent, start = os.getpid(), [0.0]

    def write() -> None:
        if os.getppid() != parent:
            start[0] = start[0] or time.monotonic()
            shared[:16] = struct.pack("dd", time.monotonic() - start[0], 1)
        else:
            shared[:16] = struct.pack("dd", 0, 1)
            time.sleep(0.0005)

    restless(given, write)
    while shared[8:16] == bytes(8):
        time.sleep(0.001)
    return None


async def drive(context: Context) -> Observation:
    allowed = CONTROL_SECONDS if context.is_control else ALLOWED_SECONDS
    return replace(await context.run(), notes={"allowed": allowed})


def judge(seen: Observation) -> Verdict:
    data = seen.result.changed.get("clock.bin", b"")
    if len(data) != 16 or not any(data):
        return broken(f"the file did not come home: {seen.result.end}, {data!r}")
    seconds = memoryview(data).cast("d")[0]
    if seconds > seen.notes["allowed"]:
        return reached(f"written to {seconds:.3f} s after the run's end")
    verdict = reported(seen)
    return verdict if verdict.kind is not Kind.HELD else replace(verdict, evidence="dead at once")


ATTACK = Attack(
    probe,
    expects="every process is dead before the first file is read",
    uses=(restless,),
    drive=drive,
    judge=judge,
)
