"""Defies every signal, while the whole worker is killed with -9."""

from __future__ import annotations

import asyncio
from pathlib import Path

from drills.attacks import worker
from drills.attacks.attack import Attack, Bare
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
from drills.attacks.scene import Scene
from drills.attacks.seen import Seen

TOP = Path(__file__).resolve().parents[3]


async def drive(scene: Scene) -> Seen:
    code = program(probe, (), scene.ground.told(scene.mark))
    process = await asyncio.create_subprocess_exec(
        *worker.words(scene.backend.name, scene.backend.wanted),
        stdin=asyncio.subprocess.PIPE,
        cwd=TOP,
    )
    assert process.stdin is not None
    process.stdin.write(code.encode())
    process.stdin.close()
    met = await asyncio.to_thread(meet, scene.mark)
    lines = [above(pid) for pid in met]
    process.kill()
    await process.wait()
    left = await asyncio.to_thread(outliving, met)
    if scene.is_control:
        kill({pid for line in lines for pid in line[:-1]})
    return of_processes(met, left)


ATTACK = Attack(
    probe,
    expects="nothing of its rooms lives on",
    drive=drive,
    judge=judge,
    control=Bare(),
)
