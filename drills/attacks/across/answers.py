"""Runs many at a time: each must get its own answer and its own files, and nobody else's."""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation, Verdict

RUNS = 8


def probe(given: dict[str, Any]) -> str | None:
    import sys

    with open("laid.txt") as file:
        laid = file.read()
    for number in range(50):
        print(given["token"], number)
        print(laid, number, file=sys.stderr)
    with open(f"{laid}.txt", "w") as file:
        file.write(given["token"])
    return None


async def drive(context: Context) -> Observation:
    """In a control all of them are given one token, as a backend would that mixes them up."""
    tokens = [secrets.token_hex(8) for _ in range(RUNS)]
    sent = [tokens[0]] * RUNS if context.is_control else tokens
    runs = await asyncio.gather(*(_run(context, each) for each in sent))
    foreign = [
        (token, each)
        for token, seen in zip(tokens, runs, strict=True)
        for each in tokens
        if (each == token) != _bears(seen, each)
    ]
    return replace(runs[-1], notes={"foreign": len(foreign)})


async def _run(context: Context, token: str) -> Observation:
    return await context.run(given={"token": token}, files={"laid.txt": token.encode()})


def _bears(seen: Observation, token: str) -> bool:
    result = seen.result
    texts = (result.stdout.text, result.stderr.text, "".join(result.changed))
    return any(token in each for each in texts)


def judge(seen: Observation) -> Verdict:
    foreign = seen.notes["foreign"]
    return reached(f"{foreign} answers went astray") if foreign else reported(seen)


ATTACK = Attack(
    probe,
    expects="every answer bears its own run's token, and no other's",
    drive=drive,
    judge=judge,
)
