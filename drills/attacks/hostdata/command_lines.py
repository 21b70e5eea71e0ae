"""Reads the command lines of all processes it can see: one on the host bears a secret."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.outcome import Observation
from drills.attacks.steps.processes import visible
from drills.attacks.steps.secrets import holds

if TYPE_CHECKING:
    from drills.attacks.context import Context


def probe(given: dict[str, Any]) -> str | None:
    for pid in visible():
        for name in ("cmdline", "comm", "stat"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if holds(given, file.read()):
                        return f"the secret in /proc/{pid}/{name}"
            except OSError:
                continue
    return None


async def drive(context: Context) -> Observation:
    words = ("-c", "import time; time.sleep(60)", context.host.secret)
    process = await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", *words)
    try:
        return await context.run()
    finally:
        process.kill()
        await process.wait()


ATTACK = Attack(
    probe,
    expects="the host's processes are not to be seen",
    uses=(holds, visible),
    drive=drive,
)
