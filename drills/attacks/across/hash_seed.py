"""Compares hash seeds and addresses of backends: what one run learns must not hold for all."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.steps.facts import facts, note

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation, Verdict


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import sys

    libc = ctypes.cast(ctypes.CDLL(None).l64a, ctypes.c_void_p).value
    told = {
        "the hash of a text": hash("fettle"),
        "the hash of bytes": hash(b"fettle"),
        "where a library lies": libc,
        "where an object lies": id(sys),
    }
    note(dict.fromkeys(told, 7) if given["plant"] else told)
    return None


async def drive(context: Context) -> Observation:
    """Within one backend they may be shared by a generation; see the design of its fork server."""
    plant = {"plant": context.is_control}
    seen = await context.run(given=plant)
    told = [facts(seen)]
    for _ in range(2):
        async with context.fresh() as own:
            told.append(facts(await own.run(given=plant)))
    same = [name for name in told[0] if len({each[name] for each in told}) < len(told)]
    return replace(seen, notes={"same": same})


def judge(seen: Observation) -> Verdict:
    same = seen.notes["same"]
    return reached(f"the same in two backends: {', '.join(same)}") if same else reported(seen)


ATTACK = Attack(
    probe,
    expects="no two fork servers share them",
    uses=(note,),
    drive=drive,
    judge=judge,
)
