"""Hands in code that is no proper text: surrogates, NUL, odd encodings, one line of a megabyte."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.context import Context
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import Command, End, SandboxError

CODES = (
    "print('\udc80')",
    "print('\ud83d')  # \udfff",
    "print(1)\0print(2)",
    "# coding: utf-7\n+AGEAIg-",
    "# coding: no-such-thing\nprint(1)",
    "\ufeffprint('with a mark')",
    "\x0c\x1b\x07print('\x1b[2J')",
    "x = '" + "y" * (1 << 20) + "'",
    "(" * 100_000,
    "x = " + "-" * 200_000 + "1",
    "def f():\n" * 1_000,
    "\r".join("print(1)" for _ in range(1_000)),
    "",
)


def probe(given: dict[str, Any]) -> str | None:
    return None


async def drive(context: Context) -> Observation:
    wrong: list[str] = []
    ends = []
    codes = ("import time; time.sleep(9)",) if context.is_control else CODES
    for code in codes:
        try:
            seen = await context.command(
                Command.python(code), replace(context.limits, wall_seconds=6)
            )
        except (SandboxError, ValueError) as error:
            wrong.append(f"{code[:40]!r}: {type(error).__name__}: {error}")
            continue
        ends.append(seen.result.end)
        if seen.result.end not in {End.EXITED, End.SIGNALED, End.MEMORY}:
            wrong.append(f"{code[:40]!r}: {seen.result.end}")
    return replace(await context.run(), notes={"wrong": wrong, "ends": ends})


def judge(seen: Observation) -> Verdict:
    if seen.notes["wrong"]:
        return reached("; ".join(seen.notes["wrong"]))
    return held(f"{len(seen.notes['ends'])} answers")


ATTACK = Attack(
    probe,
    expects="each is Python's own affair: an answer, an exit code, words on standard error",
    drive=drive,
    judge=judge,
    control=Instead(probe),
)
