"""Searches its own memory for what another run held there: its code, its files, its input."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.steps.runs import loaded
from drills.attacks.steps.secrets import holds, in_own_memory

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation

START = ("neigh", "bour-")
RUNS = 6
"""Later runs that search: forks of one server, and of the one that replaces it."""


def plant(given: dict[str, Any]) -> str | None:
    with open("secret.txt") as file:
        kept = [file.read() + str(number) for number in range(10_000)]
    print(kept[0])
    return None if kept[0].startswith(given["token"]) else "the file is another"


def probe(given: dict[str, Any]) -> str | None:
    return in_own_memory(given)


async def drive(context: Context) -> Observation:
    token = "".join(START) + secrets.token_hex(24)
    told = {"start": START, "digest": hashlib.sha256(token.encode()).hexdigest()}
    if context.is_control:
        return await context.run(given={**told, "token": token})
    await loaded(context)
    seen = await context.run(plant, given={"token": token}, files={"secret.txt": token.encode()})
    for _ in range(RUNS):
        if seen.report is None or seen.report.reached or seen.report.broken:
            break
        seen = await context.run(given=told)
    return seen


ATTACK = Attack(
    probe,
    expects="no byte of a run goes through memory that another is forked from",
    uses=(holds, in_own_memory),
    drive=drive,
)
