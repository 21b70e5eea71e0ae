"""Takes the processor from the room's agent, who keeps the deadline: affinity, niceness, class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack, Instead
from drills.attacks.drives import survived
from drills.attacks.judges import held, reached
from drills.attacks.outcome import Observation, Verdict
from sandbox.protocol import Limits

if TYPE_CHECKING:
    from drills.attacks.context import Context

LIMITS = Limits(wall_seconds=1.0, cpu_seconds=60)
MOST_LATE = 2.0
LOOPS, SLEEPERS = 4, 40
BUSY_SECONDS = 6.0


def probe(given: dict[str, Any]) -> str | None:
    """It says what it may of the agent's processor time; then it keeps that processor busy, and
    gives the agent much to look at.
    """
    import ctypes
    import os
    import time

    if os.readlink("/proc/self/ns/pid") == given["pid_namespace"]:
        return "its processes are the host's"
    libc = ctypes.CDLL(None)
    agent = os.getppid()
    is_x86 = os.uname().machine == "x86_64"
    setaffinity, setscheduler, setpriority, ioprio_set = (
        (203, 144, 141, 251) if is_x86 else (122, 119, 140, 30)
    )
    first = min(os.sched_getaffinity(0))
    mask = ctypes.byref(ctypes.c_ulong(1 << first))
    nothing = ctypes.byref(ctypes.c_int(0))
    high = 1 << 32  # the kernel takes the low half of these registers, a filter sees all of it
    for pid in (agent, high | agent, 1, high | 1) if given["starving"] else ():
        for number, *words in (
            (setaffinity, pid, 8, mask),
            (setscheduler, pid, 5, nothing),  # SCHED_IDLE
            (setpriority, 0, pid, 19),
            (setpriority, 1, pid, 19),  # PRIO_PGRP
            (ioprio_set, 1, pid, 3 << 13),  # the class that gets what nobody wants
            (ioprio_set, 2, pid, 3 << 13),
        ):
            longs = [ctypes.c_long(word) if isinstance(word, int) else word for word in words]
            libc.syscall(ctypes.c_long(number), *longs)
    for name in ("autogroup", "oom_score_adj", "sched", "timerslack_ns", "clear_refs"):
        try:
            with open(f"/proc/{agent}/{name}", "w") as file:
                file.write("19")
        except OSError:
            continue
    until = time.monotonic() + given["seconds"]
    for number in range(given["loops"] + given["sleepers"]):
        if os.fork() == 0:
            os.sched_setaffinity(0, {first})
            while time.monotonic() < until:
                if number >= given["loops"]:
                    time.sleep(max(0.0, until - time.monotonic()))
            os._exit(0)
    while time.monotonic() < until:
        time.sleep(0.05)
    return None


def sleeps(given: dict[str, Any]) -> str | None:
    """The control: a run that ends when it likes is noticed by the time that it took."""
    import time

    time.sleep(given["seconds"])
    return None


async def drive(context: Context) -> Observation:
    """How long a run takes that is as busy and leaves the agent alone, and then the attack's."""
    usual = await context.run(given={"starving": False}, limits=LIMITS)
    seen = await survived(context)
    return replace(seen, notes={**seen.notes, "late": seen.seconds - usual.seconds})


def judge(seen: Observation) -> Verdict:
    if seen.report is not None and seen.report.reached is not None:
        return reached(seen.report.reached)
    if seen.left or not seen.notes["after"]:
        return reached(f"left: {seen.left}, the run after it: {seen.notes['after']}")
    late = f"{seen.notes['late']:.1f} s later than a run that leaves the agent alone"
    return reached(late) if seen.notes["late"] > MOST_LATE else held(late)


ATTACK = Attack(
    probe,
    expects="the deadline is kept: nobody may say when another process of the room's agent runs",
    limits=LIMITS,
    given={"seconds": BUSY_SECONDS, "loops": LOOPS, "sleepers": SLEEPERS, "starving": True},
    drive=drive,
    judge=judge,
    control=Instead(sleeps, Limits(wall_seconds=BUSY_SECONDS + 4)),
    alone=True,
)
