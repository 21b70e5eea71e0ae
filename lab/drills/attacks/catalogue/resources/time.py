"""Processor time, wall time and output."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from functools import partial
from pathlib import Path

from lab.drills.attacks.attack import RaisedLimits, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import held_verdict, reached
from lab.drills.attacks.outcome import AttackVerdict
from lab.drills.attacks.probes.primitives import allowed, burn, child
from sandbox.protocol import MIB, End, Limits

OUTPUT_KEPT = 16 * 1024
HOST_GROWTH = 48 * MIB
"""The allowed growth of the host's process in bytes; the flood is four times as large."""

processor_attack = partial(
    attack,
    ends=frozenset({End.CPU}),
    control=RaisedLimits(Limits(wall_seconds=60.0, cpu_seconds=20)),
)
ONE_SECOND = Limits(wall_seconds=60.0, cpu_seconds=1)

deadline_attack = partial(
    attack,
    limits=Limits(wall_seconds=1.0),
    ends=frozenset({End.TIMEOUT}),
    control=RaisedLimits(Limits(wall_seconds=20.0)),
)


@processor_attack(limits=ONE_SECOND)
def busy_loop() -> str | None:
    """Uses processor time beyond its limit, in one process."""
    for number in (signal.SIGXCPU, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    burn(3)
    return "3 s of processor time"


@processor_attack(limits=Limits(wall_seconds=60.0, cpu_seconds=2))
def cpu_across_processes() -> str | None:
    """Uses processor time in four processes that each stay below the limit."""
    pids = [child(burn, 1.3) for _ in range(4)]
    for pid in pids:
        os.waitpid(pid, 0)
    return "4 x 1.3 s of processor time"


@processor_attack(limits=ONE_SECOND)
def cpu_short_lives() -> str | None:
    """Uses processor time in grandchildren that live too short to appear in a sample."""
    read, write = os.pipe()

    def live() -> None:
        burn(0.02)
        os.write(write, b"1")

    for _ in range(150):
        child(child, live)  # an orphan: init inherits its time, and not its parent
        os.wait()
        os.read(read, 1)
    return "150 x 0.02 s of processor time"


@processor_attack(limits=ONE_SECOND)
def cpu_unreaped() -> str | None:
    """Uses processor time in unreaped children, so that no parent inherits their time."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps them without adding their time
    for _ in range(10):
        read, write = os.pipe()
        child(burn, 0.25)
        os.close(write)
        os.read(read, 1)  # until it has ended
        os.close(read)
    return "10 x 0.25 s of processor time"


@deadline_attack()
def sleep_past_deadline() -> str | None:
    """Sleeps past the deadline, and blocks or ignores every signal that it can."""
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        allowed(signal.signal, number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    time.sleep(3)
    return "slept 3 s"


@deadline_attack()
def output_endless() -> str | None:
    """Writes a little, forever, on both outputs, past the deadline."""
    until = time.monotonic() + 3
    while time.monotonic() < until:
        os.write(1, b"out\n")
        os.write(2, b"err\n")
        time.sleep(0.01)
    return "wrote for 3 s"


def resident() -> int:
    """Memory of this process, in bytes."""
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def little_is_kept(context: Context) -> AttackVerdict:
    before = most = resident()
    run = asyncio.ensure_future(context.run())
    while not run.done():
        most = max(most, resident())
        await asyncio.sleep(0.01)
    result, growth = (await run).result, most - before
    sizes = [len(output.text.encode()) for output in (result.stdout, result.stderr)]
    if result.end is not End.OUTPUT:
        return reached(f"it ended as {result.end}: {(await run).report}")
    if max(sizes) > 3 * OUTPUT_KEPT + 100:  # a byte that is not text becomes three bytes
        return reached(f"{max(sizes)} bytes of an output were kept")
    if growth > HOST_GROWTH:
        return reached(f"the host's process grew by {growth} bytes")
    return held_verdict(f"{sizes} bytes kept, the host grew by {growth} bytes")


@attack(
    limits=Limits(output_bytes=OUTPUT_KEPT, wall_seconds=30.0), drive=little_is_kept, alone=True
)
def output_flood() -> str | None:
    """Floods standard output and standard error, faster than any reader reads."""

    def flood(fd: int) -> None:
        for _ in range(100):
            os.write(fd, b"flood \x1b[2J" * 100_000)

    for fd in (1, 2):
        child(flood, fd)
    for _ in (1, 2):
        os.wait()
    return "wrote 200 MB"
