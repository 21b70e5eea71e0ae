"""Hands in command lines that no kernel takes: megabytes of words, odd signs, no program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.context import Context
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import Command, End, SandboxError

COMMANDS = (
    ("echo", "x" * (3 << 20)),
    ("echo", *("word" for _ in range(100_000))),
    ("echo", *("y" * 100_000 for _ in range(40))),
    ("",),
    (" ",),
    ("\n",),
    ("/",),
    ("/work",),
    ("/etc/passwd",),
    ("../../../../bin/nothing",),
    ("echo", "\udc80", "\x1b[2J", "a\nb"),
    ("python", "-c"),
    ("python", "-c", "print(1)", "--", "-c"),
    ("python", "no-such-file.py"),
    ("x" * 5_000,),
)


def probe(given: dict[str, Any]) -> str | None:
    return None


async def drive(context: Context) -> Observation:
    wrong: list[str] = []
    commands = (("sleep", "9"),) if context.is_control else COMMANDS
    for words in commands:
        told = repr(words)[:60]
        try:
            seen = await context.command(Command(words), replace(context.limits, wall_seconds=6))
        except (SandboxError, ValueError) as error:
            wrong.append(f"{told}: {type(error).__name__}: {error}")
            continue
        if seen.result.end is not End.EXITED:
            wrong.append(f"{told}: {seen.result.end}")
    return replace(await context.run(), notes={"wrong": wrong})


def judge(seen: Observation) -> Verdict:
    if seen.notes["wrong"]:
        return reached("; ".join(seen.notes["wrong"]))
    return held()


ATTACK = Attack(
    probe,
    expects="each ends with an exit code, as in a shell; none is a fault of the sandbox",
    drive=drive,
    judge=judge,
    control=Instead(probe),
)
