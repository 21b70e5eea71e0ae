"""Hands in ten megabytes of code."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import LIMITS, Attack, Instead
from drills.attacks.context import Context
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import Command

SIZE = 10 * 1024 * 1024
ANSWER = f"{SIZE}\n"


def probe(given: dict[str, Any]) -> str | None:
    return None


async def drive(context: Context) -> Observation:
    end = "" if context.is_control else "print(len(text))"
    return await context.command(Command.python(f"text = '{'x' * SIZE}'\n{end}"), LIMITS)


def judge(seen: Observation) -> Verdict:
    if seen.result.stdout.text != ANSWER:
        return reached(f"{seen.result.end}: {seen.result.stdout.text[:80]!r}")
    return held(f"{seen.seconds:.1f} s")


ATTACK = Attack(
    probe,
    expects="it arrives whole, and runs",
    drive=drive,
    judge=judge,
    control=Instead(probe),
)
