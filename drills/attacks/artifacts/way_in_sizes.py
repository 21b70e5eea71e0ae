"""Lays more files, and more bytes, than a work area may hold."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Raised
from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import MIB, Limits

if TYPE_CHECKING:
    from drills.attacks.context import Context

SMALL = Limits(workspace_bytes=4 * MIB, workspace_files=50, file_bytes=4 * MIB)
LARGE = Limits(workspace_bytes=16 * MIB, workspace_files=200, file_bytes=8 * MIB)


def probe(given: dict[str, Any]) -> str | None:
    return None


async def drive(context: Context) -> Observation:
    loads = (
        {f"{number}.bin": bytes(MIB) for number in range(5)},
        {f"{number}.txt": b"" for number in range(51)},
        {"one.bin": bytes(4 * MIB + 1)},
    )
    for load in loads:
        try:
            seen = await context.run(files=load)
        except ValueError:
            continue
        words = f"{len(load)} files of {sum(map(len, load.values()))} bytes"
        return replace(seen, notes={"laid": words})
    return replace(await context.run(files={"x.txt": b"fine\n"}), notes={"laid": ""})


def judge(seen: Observation) -> Verdict:
    laid = seen.notes["laid"]
    return reached(f"laid: {laid}") if laid else reported(seen)


ATTACK = Attack(
    probe,
    expects="refused with a ValueError, before a byte is sent",
    limits=SMALL,
    control=Raised(LARGE),
    drive=drive,
    judge=judge,
)
