"""Defies every signal, while the process that watches over all rooms is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Iterable
from typing import Any

from drills import family
from drills.attacks.attack import Attack, Baseline
from drills.attacks.context import LEFT_SECONDS, Context, marked
from drills.attacks.judges import broken, held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import End, RunResult, SandboxError, Stream

MEET_SECONDS = 15.0


def probe(given: dict[str, Any]) -> str | None:
    import signal
    import subprocess
    import sys
    import time

    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(2):
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(9)", given["mark"]],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    time.sleep(9)
    return None


async def drive(context: Context) -> Observation:
    async with context.fresh() as own:
        run = asyncio.ensure_future(own.run())
        met = await asyncio.to_thread(meet, own.mark)
        lines = [line for line in map(above, met) if line]
        for line in lines:
            kill(line[-1:])
        if not lines:
            await own.sandbox.close()  # no process of ours watches over this backend's rooms
        left = await asyncio.to_thread(outliving, met)
        if context.is_control:
            kill({pid for line in lines for pid in line})
        else:
            run.cancel()
        with contextlib.suppress(asyncio.CancelledError, SandboxError):
            await run
    return of_processes(met, left)


def of_processes(met: list[int], left: list[int]) -> Observation:
    """What was seen of a run that was not let come to its answer."""
    nothing = RunResult(End.KILLED, None, None, Stream(), Stream(), 0.0)
    return Observation(nothing, None, 0.0, notes={"met": met, "left": left})


def meet(mark: str) -> list[int]:
    """The pids, on the host, of the run's marked processes, as soon as both are there."""
    until = time.monotonic() + MEET_SECONDS
    while len(found := marked(mark)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    return [int(each.split()[1]) for each in found]


def above(pid: int) -> list[int]:
    """`pid` and those it descends from, up to a child of this process; empty where there is none:
    the last one watches over the room.
    """
    line = []
    while pid > 1:
        line.append(pid)
        if (found := family.process(pid)) is None:
            return []
        pid = found.parent
        if pid == os.getpid():
            return line
    return []


def kill(pids: Iterable[int]) -> None:
    """Kill processes that the drill has started; some may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def outliving(pids: list[int]) -> list[int]:
    """Those that still live some seconds later."""
    until = time.monotonic() + LEFT_SECONDS
    while (left := [pid for pid in pids if family.is_alive(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def judge(seen: Observation) -> Verdict:
    if len(seen.notes["met"]) < 2:
        return broken("the host never met the run's processes")
    if seen.notes["left"]:
        return reached(f"{len(seen.notes['left'])} processes of the run live on")
    return held(f"{len(seen.notes['met'])} processes met, none left")


ATTACK = Attack(
    probe,
    expects="nothing of the room lives on",
    drive=drive,
    judge=judge,
    control=Baseline(),
)
