"""Searches its own memory for what the process that it was forked from had known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import loaded
from drills.attacks.steps.secrets import holds, in_own_memory

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation


def probe(given: dict[str, Any]) -> str | None:
    return in_own_memory(given)


async def drive(context: Context) -> Observation:
    await loaded(context)
    return await context.run()


ATTACK = Attack(
    probe,
    expects="nothing that the worker or its supervisor knew is in a room's memory",
    uses=(holds, in_own_memory),
    drive=drive,
)
