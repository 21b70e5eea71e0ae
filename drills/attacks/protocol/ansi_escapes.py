"""Writes what moves a cursor, renames a window and hides lines, to whoever reads its output."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from rich.console import Console

from cli.progress import Detail, run_parts
from cli.render import drawn, plain
from cli.render.parts import Output, Part
from drills.attacks.attack import Attack, Instead
from drills.attacks.context import Context
from drills.attacks.judges import broken, held, reached
from drills.attacks.outcome import Observation, Verdict

HOSTILE = ("\x1b", "\x07", "\x08", "\r", "\x9b", "\x9d", "\u202e")


def probe(given: dict[str, Any]) -> str | None:
    import os

    odd = "odd \x1b[2J\x1b[1A\x1b]0;mine\x07 \x08\x08 over\rwritten \x9b31m \x9d \u202e txt"
    for fd in (1, 2):
        os.write(fd, odd.encode())
    os._exit(0)


def shown(parts: list[Part]) -> str:
    """What a terminal gets, and what a pipe gets."""
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=100)
    for part in parts:
        console.print(drawn.draw(part))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue() + "\n".join(line for part in parts for line in plain.lines(part))


def judge(seen: Observation) -> Verdict:
    result = seen.result
    if "\x1b" not in result.stdout.text:
        return broken("the output did not arrive as it was written")
    streams = {"stdout": result.stdout, "stderr": result.stderr}
    kept = {
        name: {"text": each.text, "dropped_bytes": 0, "digest": None}
        for name, each in streams.items()
    }
    run = {
        "number": 1,
        "by": "executor",
        "end": "exited",
        "exit_code": 0,
        "seconds": 0.1,
        "succeeded": True,
        "artifacts": [],
        "refused": [result.stdout.text],
        **kept,
        "code": kept["stdout"],
    }
    text = shown(list(run_parts(run, Detail())))
    if seen.notes["careless"]:
        text = shown([Output(result.stdout.text)])
    found = [sign for sign in HOSTILE if sign in text]
    return reached(f"a terminal gets {found}") if found else held()


async def drive(context: Context) -> Observation:
    return replace(await context.run(), notes={"careless": context.is_control})


ATTACK = Attack(
    probe,
    expects="the bytes arrive as data, and the command line shows them spelled out",
    drive=drive,
    judge=judge,
    control=Instead(probe),
)
