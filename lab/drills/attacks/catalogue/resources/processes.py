"""Processes, threads, kernel objects and limits, and their effect on neighbours."""

from __future__ import annotations

import asyncio
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial

from lab.drills.attacks.attack import BaselineControl, Inputs, OtherProbe, attack
from lab.drills.attacks.catalogue.drives import outliving, renamed
from lab.drills.attacks.catalogue.kernel.rights import takes_precedence
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import broken, held_verdict, reached
from lab.drills.attacks.outcome import AttackVerdict, ProbeReport
from lab.drills.attacks.probes.primitives import attempt, child, kill, libc, read, take_name
from sandbox.protocol import MIB, Limits

COUNT = 32
counted_attack = partial(attack, limits=Limits(processes=COUNT))
outliving_attack = partial(attack, drive=outliving)

QUIET = Limits(wall_seconds=20.0)
BOMBS = ("forks", "memory", "output", "files", "spin")
SLOWER = 10.0
"""The neighbour may take this multiple of its time alone, plus 3 s: this is the number of bombs,
and there may be only one processor.
"""

# Not RLIMIT_NPROC: a control group may count instead of it, and `fork_bomb` tests it.
HARD = Limits(processes=32, open_files=64, file_bytes=MIB, cpu_seconds=5)


@counted_attack()
def fork_bomb() -> str | None:
    """Forks until no more processes can be forked."""
    pids: list[int] = []
    try:
        while len(pids) < 2 * COUNT:
            pids.append(child(time.sleep, 5))
    except OSError:
        return None
    finally:
        kill(*pids)
    return f"{len(pids)} processes at one time"


@counted_attack()
def zombie_bomb() -> str | None:
    """Forks children that end at once and are never reaped."""
    zombies = 0
    while zombies < 2 * COUNT:
        if attempt(child, os.getpid) is None:
            return None
        zombies += 1
    return f"{zombies} zombies"


@counted_attack()
def thread_bomb() -> str | None:
    """Starts threads until no more can be started."""
    end = threading.Event()
    count = 0
    try:
        while count < 2 * COUNT:
            threading.Thread(target=end.wait, args=(10,), daemon=True).start()
            count += 1
    except RuntimeError:
        return None
    finally:
        end.set()
    return f"{count} threads at one time"


@counted_attack()
def spawn_storm() -> str | None:
    """Starts programs by vfork from many threads at once, beyond the limit of processes."""
    pids: list[int] = []

    def storm() -> None:
        while len(pids) < 2 * COUNT:
            pid = attempt(os.posix_spawn, "/bin/sleep", ["sleep", "5"], {})
            if pid is None:
                return
            pids.append(pid)

    started = []
    for thread in [threading.Thread(target=storm) for _ in range(8)]:
        try:
            thread.start()
        except RuntimeError:  # the other threads have used up all processes
            break
        started.append(thread)
    for thread in started:
        thread.join()
    kill(*pids)
    return f"{len(pids)} programs at one time" if len(pids) >= 2 * COUNT else None


@outliving_attack()
def daemon(inputs: Inputs) -> str | None:
    """Leaves a daemon behind: forked twice, in its own session, ignoring signals."""

    def start() -> None:
        # The mark on its command line lets the host find it, even after it has changed its name or
        # parent.
        deaf = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; "
        os.setsid()
        subprocess.Popen([sys.executable, "-c", f"{deaf}time.sleep(20)", inputs["mark"]])

    child(start)
    os.wait()
    time.sleep(0.5)  # so that the host sees it
    return None


@outliving_attack()
def stopped_processes(inputs: Inputs) -> str | None:
    """Leaves stopped processes behind, in their own sessions."""
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(20)", inputs["mark"]],
            start_new_session=True,
        )
        os.kill(process.pid, signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
    time.sleep(0.5)  # so that the host sees them
    return None


@outliving_attack()
def pid_hopping(inputs: Inputs) -> str | None:
    """Escapes a killer by pid: each process forks its successor and ends, for 10 s."""
    until = time.monotonic() + 10

    def hop() -> None:
        os.setsid()
        take_name(inputs["mark"])
        while time.monotonic() < until:
            if os.fork() > 0:
                os._exit(0)
            time.sleep(0.2)

    for _ in range(4):
        child(hop)
    time.sleep(0.5)
    return None


@attack()
def message_queues(inputs: Inputs) -> str | None:
    """Makes message queues, of POSIX and of System V: kernel memory that outlives a process."""
    queue = libc().msgget(0, 0o1600)
    if queue >= 0:
        libc().msgctl(queue, 0, None)
        return "a queue of System V"
    name = f"/{inputs['mark']}".encode()
    posix = attempt(ctypes.CDLL, "librt.so.1") or libc()
    queue = posix.mq_open(name, os.O_CREAT | os.O_RDWR, 0o600, None)
    if queue >= 0:
        posix.mq_unlink(name)
        return "a queue of POSIX"
    return None


@attack()
def timers() -> str | None:
    """Makes timers without end: each uses kernel memory and a pending signal of its user."""
    count, enough = 0, 20_000
    library, timer = libc(), ctypes.c_void_p()
    while count < enough and library.timer_create(1, None, ctypes.byref(timer)) == 0:
        count += 1
    return f"{count} timers" if count == enough else None


priorities = attack(
    control=BaselineControl(host_root=True),
    tries="Takes a higher priority: nice, real-time scheduling, I/O, the last to be killed.",
)(takes_precedence)


@attack(control=BaselineControl(as_drill=True))
def prlimit_others(inputs: Inputs) -> str | None:
    """Sets the limits of a process outside of its run: the drill."""
    pid = inputs["pid"]
    if b"lab.drills.attacks" not in (read(f"/proc/{pid}/cmdline") or b""):
        return None  # none, or a pid in the sandbox
    try:
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
    except (OSError, ValueError):
        return None
    return f"the limits of pid {pid} could be set"


@attack(
    limits=HARD,
    inputs={
        "most": {
            "NOFILE": HARD.open_files,
            "FSIZE": HARD.file_bytes,
            "CPU": HARD.cpu_seconds + 1,
            "CORE": 1,  # one byte, which the kernel reads as "not even to a pipe"
            "MSGQUEUE": 0,
        }
    },
)
def raise_rlimits(inputs: Inputs) -> str | None:
    """Raises its own resource limits, with setrlimit and with prlimit."""
    for name, most in inputs["most"].items():
        which = getattr(resource, f"RLIMIT_{name}")
        for limit in (1 << 31, resource.RLIM_INFINITY):
            for change in (resource.setrlimit, lambda *a: resource.prlimit(os.getpid(), *a)):
                try:
                    change(which, (limit, limit))
                except (OSError, ValueError):
                    continue
        _, hard = resource.getrlimit(which)
        if hard == resource.RLIM_INFINITY or hard > most:
            return f"RLIMIT_{name} is {hard}, more than {most}"
    return None


def has_inotify() -> str | None:
    """A neighbour's run, which checks whether the attack takes its resources."""
    select.epoll().close()
    return "it has inotify" if libc().inotify_init1(0) >= 0 else "it has none"


async def with_a_neighbour(context: Context) -> AttackVerdict:
    """Run the neighbour alone, then the attack's probe, and the neighbour again during the
    probe.
    """
    alone = (await context.run(has_inotify)).report
    run = asyncio.ensure_future(context.run())
    await asyncio.sleep(1.0)
    meanwhile = (await renamed(context).run(has_inotify)).report
    await run
    return (
        held_verdict()
        if alone == meanwhile
        else reached(f"the neighbour: {alone} before, {meanwhile}")
    )


@attack(drive=with_a_neighbour, alone=True)
def inotify() -> str | None:
    """Uses up the inotify and epoll objects of its user, so that a neighbour gets none."""
    library, count = libc(), 0
    while count < 250 and library.inotify_init1(0) >= 0:
        count += 1
    time.sleep(3)
    return None


def minds_its_business() -> str | None:
    block = bytearray(b"x") * (32 << 20)
    pids = [child(os._exit, 7) for _ in range(8)]
    if any(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 7 for pid in pids):
        return None
    thread = threading.Thread(target=block.count, args=(b"x",))
    thread.start()
    thread.join()
    with open("mine", "wb") as file:
        file.write(block[: 8 << 20])
    return f"fine: {sum(range(1_000_000))} {os.path.getsize('mine')}"


async def among_bombs(context: Context) -> AttackVerdict:
    alone = await context.run(minds_its_business, limits=QUIET)
    bombs = [asyncio.ensure_future(context.run(inputs={"kind": kind})) for kind in BOMBS]
    await asyncio.sleep(1.0)
    limits = replace(QUIET, processes=4) if context.is_control else QUIET
    observation = await renamed(context).run(minds_its_business, limits=limits)
    ends = [(await bomb).result.end.value for bomb in bombs]
    fine = ProbeReport(reached="fine: 499999500000 8388608")
    if alone.report != fine:
        return broken(f"the neighbour alone: {alone.report} {alone.result.end}")
    if observation.report != fine:
        return reached(f"the neighbour: {observation.report}, {observation.result.end}")
    if observation.seconds > SLOWER * alone.seconds + 3:
        return reached(
            f"the neighbour took {observation.seconds:.1f} s, alone {alone.seconds:.1f} s"
        )
    return held_verdict(f"{alone.seconds:.2f} s alone, {observation.seconds:.2f} s beside {ends}")


def explodes(inputs: Inputs) -> str | None:
    """Starts five kinds of bombs at once, in their own sandboxes, during a normal run."""
    until = time.monotonic() + 4
    if inputs["kind"] == "memory":
        blocks: list[bytearray] = []
        while time.monotonic() < until and len(blocks) < 256:
            blocks.append(bytearray(b"x") * (1 << 20))
    elif inputs["kind"] == "files":
        for number in range(30_000):
            os.close(os.open(f"f{number}", os.O_CREAT | os.O_WRONLY))
    count = 0
    while time.monotonic() < until:
        if inputs["kind"] == "forks" and count < 500:
            try:
                child(time.sleep, max(0.0, until - time.monotonic()))
                count += 1
            except OSError:
                time.sleep(0.01)
        elif inputs["kind"] == "output":
            os.write(1, b"x" * 65_536)
        elif inputs["kind"] != "spin":
            time.sleep(0.01)
    return None


loud_neighbour = attack(
    limits=Limits(wall_seconds=8.0, processes=32, memory_bytes=64 * MIB),
    drive=among_bombs,
    control=OtherProbe(explodes),
    alone=True,
)(explodes)
