"""Defies every signal, while the whole worker is killed with -9."""

from __future__ import annotations

import asyncio
from pathlib import Path

from drills.attacks import worker
from drills.attacks.attack import Attack, Baseline
from drills.attacks.context import Context
from drills.attacks.outcome import Observation
from drills.attacks.program import program
from drills.attacks.protocol.supervisor_killed import (
    above,
    judge,
    kill,
    meet,
    of_processes,
    outliving,
    probe,
)

TOP = Path(__file__).resolve().parents[3]


async def drive(context: Context) -> Observation:
    code = program(probe, context.host.told(context.mark))
    process = await asyncio.create_subprocess_exec(
        *worker.words(context.backend.name, context.backend.wanted),
        stdin=asyncio.subprocess.PIPE,
        cwd=TOP,
    )
    assert process.stdin is not None
    process.stdin.write(code.encode())
    process.stdin.close()
    met = await asyncio.to_thread(meet, context.mark)
    lines = [above(pid) for pid in met]
    process.kill()
    await process.wait()
    left = await asyncio.to_thread(outliving, met)
    if context.is_control:
        kill({pid for line in lines for pid in line[:-1]})
    return of_processes(met, left)


ATTACK = Attack(
    probe,
    expects="nothing of its rooms lives on",
    drive=drive,
    judge=judge,
    control=Baseline(),
)
