"""A run sends messages to the host's side that it must not send."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import io
import json
import os
import resource
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from cli.render.evidence import Detail, run_parts
from cli.render.part_formats import draw, plain_lines
from cli.render.parts import Output, Part
from lab.drills import process_tree
from lab.drills.attacks.attack import (
    LIMITS,
    BaselineControl,
    Inputs,
    OtherProbe,
    RaisedLimits,
    attack,
)
from lab.drills.attacks.catalogue.drives import survives, with_the_next
from lab.drills.attacks.context import LEFT_SECONDS, Context, marked
from lab.drills.attacks.environment import worker
from lab.drills.attacks.judges import broken, held_verdict, reached, survived
from lab.drills.attacks.outcome import AttackVerdict
from lab.drills.attacks.probes.primitives import (
    allowed,
    attempt,
    call,
    child,
    in_host_processes,
    leave_process,
    opens,
    read,
    visible,
)
from lab.drills.attacks.probes.program import program
from sandbox import policy
from sandbox.agent import wire
from sandbox.protocol import Command, End, Limits, SandboxError

# The agent, from inside

AS_HOST_ROOT, AS_DRILL = BaselineControl(host_root=True), BaselineControl(as_drill=True)


@attack(control=AS_HOST_ROOT)
def agent_descriptors() -> str | None:
    """Takes descriptors from the sandbox's agent, by `/proc` and by pidfd."""
    pid = os.getppid()
    names = attempt(os.listdir, f"/proc/{pid}/fd")
    if names is not None:
        return f"the agent's descriptors: {names}"
    handle = call("pidfd_open", pid, 0)
    for number in range(64):
        if handle >= 0 and call("pidfd_getfd", handle, number, 0) >= 0:
            return f"the agent's descriptor {number}"
        if opens(f"/proc/{pid}/fd/{number}", os.O_RDONLY | os.O_NONBLOCK):
            return f"the agent's descriptor {number}, by its name"
    return None


@attack(control=AS_HOST_ROOT)
def agent_traced() -> str | None:
    """Inspects the sandbox's agent: traces it, opens its memory, reads its environment."""
    pid = os.getppid()
    for name, flags in (("mem", os.O_RDWR), ("mem", os.O_RDONLY), ("auxv", os.O_RDONLY)):
        if opens(f"/proc/{pid}/{name}", flags):
            return f"/proc/{pid}/{name} can be opened"
    if call("ptrace", 0x4206, pid, 0, 0) == 0:  # PTRACE_SEIZE: it runs on
        return f"pid {pid} can be traced"
    buffer = ctypes.create_string_buffer(16)
    vector = [ctypes.addressof(buffer), 16]
    if call("process_vm_readv", pid, vector, 1, vector, 1, 0) > 0:
        return f"the memory of pid {pid} can be read"
    return None


@attack(control=AS_HOST_ROOT)
def agent_source() -> str | None:
    """Looks for code that it can change and that runs outside of its process: agent, library."""
    folders = {*sys.path, *sysconfig.get_paths().values(), "/agent", "/agent/sandbox", "/usr/bin"}
    folders |= {os.path.dirname(sys.executable), sys.prefix, sys.base_prefix, "/etc", "/"}
    own_folders = (os.getcwd(), "/tmp")
    other_folders = [
        folder
        for folder in folders
        if folder and not os.path.realpath(folder).startswith(own_folders)
    ]
    writable = sorted(folder for folder in other_folders if os.access(folder, os.W_OK))
    return f"can be written: {writable}" if writable else None


ANY_END = (End.KILLED, End.EXITED, End.SIGNALED, End.TIMEOUT)
blow = partial(
    attack, limits=Limits(wall_seconds=5.0), drive=survives(*ANY_END, within=20.0), control=AS_DRILL
)
STOPPING = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}


def signal_everyone(inputs: Inputs) -> None:
    """Signals the sandbox's agent and every other process it may signal, and leaves daemons."""
    for _ in range(2):
        leave_process(inputs, 6)
    pids = [] if in_host_processes(inputs) else visible()
    for number in inputs["signals"]:
        for pid in (os.getppid(), *pids):
            words = read(f"/proc/{pid}/cmdline")
            is_own = words is None or inputs["mark"].encode() in words or pid == os.getpid()
            if not is_own:
                allowed(os.kill, pid, number)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os._exit(3)


agent_killed = blow(
    inputs={"signals": [9]},
    tries="Kills the sandbox's agent and whatever else it may, with daemons of its own left.",
)(signal_everyone)
agent_signals = blow(
    inputs={"signals": sorted({int(number) for number in signal.valid_signals() - STOPPING})},
    tries="Sends every signal that can be caught to the sandbox's agent and its init.",
)(signal_everyone)


@blow(drive=survives(*ANY_END, End.OUTPUT, within=20.0))
def agent_limits(inputs: Inputs) -> None:
    """Takes resources away from the sandbox's agent: no descriptors, no memory, no time."""
    leave_process(inputs, 6)
    for name in ("NOFILE", "FSIZE", "AS", "DATA", "STACK", "NPROC", "CPU"):
        try:
            resource.prlimit(os.getppid(), getattr(resource, f"RLIMIT_{name}"), (0, 0))
        except (OSError, ValueError):
            continue
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        os.write(1, b"x" * 10_000)
    with open("made", "w") as file:
        file.write("x")
    os._exit(3)


STOPPED_SECONDS = 1.0
MOST_SECONDS = STOPPED_SECONDS + policy.GRACE_SECONDS + 4.0


async def ended_by_the_host(context: Context) -> AttackVerdict:
    observation, fine = await with_the_next(context)
    if observation.report is not None:
        return reached(str(observation.report.reached))
    return survived(observation, fine, set(End), within=MOST_SECONDS)


@attack(
    limits=Limits(wall_seconds=STOPPED_SECONDS),
    drive=ended_by_the_host,
    control=RaisedLimits(Limits(wall_seconds=MOST_SECONDS + 1)),
)
def agent_stopped(inputs: Inputs) -> str | None:
    """Stops the sandbox's agent, so that no process inside enforces the deadline."""
    if in_host_processes(inputs):
        return "its processes are the host's"
    for pid in visible():
        if pid != os.getpid():
            allowed(os.kill, pid, signal.SIGSTOP)
    time.sleep(60)
    return None


BUSY_SECONDS, LOOPS, SLEEPERS = 6.0, 4, 40
BUSY = Limits(wall_seconds=1.0, cpu_seconds=60)
MOST_LATE = 2.0


def sleeps() -> None:
    """The control: a run that ends when it likes is noticed by its duration."""
    time.sleep(BUSY_SECONDS)


async def compared_with_as_busy_a_run(context: Context) -> AttackVerdict:
    """Measure the time of a run that is as busy but does not touch the agent, and then the attack's
    time.
    """
    usual = await context.run(inputs={"starving": False}, limits=BUSY)
    observation, fine = await with_the_next(context)
    if observation.report is not None and observation.report.reached is not None:
        return reached(observation.report.reached)
    return survived(observation, fine, set(End), within=usual.seconds + MOST_LATE)


@attack(
    limits=BUSY,
    inputs={"starving": True},
    drive=compared_with_as_busy_a_run,
    control=OtherProbe(sleeps, Limits(wall_seconds=BUSY_SECONDS + 4)),
    alone=True,
)
def agent_starved(inputs: Inputs) -> str | None:
    """Takes the processor from the agent, which enforces the deadline: affinity, niceness.

    It reports the agent's processor time as far as it can. Then it keeps that processor busy, and
    gives the agent much work.
    """
    if in_host_processes(inputs):
        return "its processes are the host's"
    agent = os.getppid()
    first = min(os.sched_getaffinity(0))
    mask, nothing = (ctypes.byref(ctypes.c_ulong(1 << first)), ctypes.byref(ctypes.c_int(0)))
    high = 1 << 32  # the kernel uses the low half of these registers; a filter sees all of it
    for pid in (agent, high | agent, 1, high | 1) if inputs["starving"] else ():
        call("sched_setaffinity", pid, 8, mask)
        call("sched_setscheduler", pid, 5, nothing)  # SCHED_IDLE
        call("setpriority", 0, pid, 19)
        call("setpriority", 1, pid, 19)  # PRIO_PGRP
        call("ioprio_set", 1, pid, 3 << 13)  # the class that gets unused time
        call("ioprio_set", 2, pid, 3 << 13)
    for name in ("autogroup", "oom_score_adj", "sched", "timerslack_ns", "clear_refs"):
        file = attempt(os.open, f"/proc/{agent}/{name}", os.O_WRONLY)
        if file is not None:
            allowed(os.write, file, b"19")
    until = time.monotonic() + BUSY_SECONDS

    def busy(sleeping: bool) -> None:
        os.sched_setaffinity(0, {first})
        while time.monotonic() < until:
            if sleeping:
                time.sleep(max(0.0, until - time.monotonic()))

    for number in range(LOOPS + SLEEPERS):
        child(busy, number >= LOOPS)
    while time.monotonic() < until:
        time.sleep(0.05)
    return None


# The supervisor and the worker, killed from outside

MEET_SECONDS = 15.0


def defies_signals(inputs: Inputs) -> None:
    for number in (1, 2, 15):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(2):
        leave_process(inputs, 9)
    time.sleep(9)


async def killing_the_supervisor(context: Context) -> AttackVerdict:
    async with context.fresh() as own_context:
        run = asyncio.ensure_future(own_context.run())
        met = await asyncio.to_thread(meet, own_context.mark)
        lines = [line for line in map(above, met) if line]
        for line in lines:
            kill_all(line[-1:])
        if not lines:
            # No process of Fettle supervises the sandboxes of this backend.
            await own_context.sandbox.close()
        survivors = await asyncio.to_thread(outliving, met)
        if context.is_control:
            kill_all({pid for line in lines for pid in line})
        else:
            run.cancel()
        with contextlib.suppress(asyncio.CancelledError, SandboxError):
            await run
    return none_lives_on(met, survivors)


async def killing_the_worker(context: Context) -> AttackVerdict:
    code = program(defies_signals, context.host.facts(context.mark))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", worker.__name__, context.backend.name),
        stdin=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[4],
    )
    assert process.stdin is not None
    process.stdin.write(code.encode())
    process.stdin.close()
    met = await asyncio.to_thread(meet, context.mark)
    lines = [above(pid) for pid in met]
    process.kill()
    await process.wait()
    survivors = await asyncio.to_thread(outliving, met)
    if context.is_control:
        kill_all({pid for line in lines for pid in line[:-1]})
    return none_lives_on(met, survivors)


def meet(mark: str) -> list[int]:
    """The pids on the host of the run's marked processes, as soon as both exist."""
    until = time.monotonic() + MEET_SECONDS
    while len(processes := marked(mark)) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    return [int(line.split()[1]) for line in processes]


def above(pid: int) -> list[int]:
    """`pid` and its ancestors, up to a child of this process; empty without such a child. The last
    one supervises the sandbox.
    """
    line = []
    while pid > 1:
        line.append(pid)
        if (process := process_tree.process(pid)) is None:
            return []
        pid = process.parent
        if pid == os.getpid():
            return line
    return []


def kill_all(pids: Iterable[int]) -> None:
    """Kill processes that the drill has started; some of them may have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def outliving(pids: list[int]) -> list[int]:
    """The processes that still live some seconds later."""
    until = time.monotonic() + LEFT_SECONDS
    while (
        survivors := [pid for pid in pids if process_tree.is_alive(pid)]
    ) and time.monotonic() < until:
        time.sleep(0.05)
    return survivors


def none_lives_on(met: list[int], survivors: list[int]) -> AttackVerdict:
    if len(met) < 2:
        return broken("the host never met the run's processes")
    if survivors:
        return reached(f"{len(survivors)} processes of the run live on")
    return held_verdict(f"{len(met)} processes met, none left")


supervisor_killed = attack(
    drive=killing_the_supervisor,
    tries="Defies every signal, while the process that watches over all sandboxes is killed.",
)(defies_signals)
worker_killed = attack(
    drive=killing_the_worker, tries="Defies every signal, while the whole worker is killed with -9."
)(defies_signals)


# Answers


FORGED = "FORGED"


def frame(status: int) -> bytes:
    """An answer in the form of the sandbox's agent: the run ended with this status, with an
    output.
    """
    lines = ["end -", f"status {status}", "seconds 0.000100", "cpu_seconds 0.000100"]
    lines += [f"stdout {len(FORGED)} 0 0", "stderr 0 0 0"]
    reading, writing = os.pipe()
    try:
        wire.send_frame(writing, lines, [FORGED.encode(), b"", b"", b""])
        return os.read(reading, 65_536)
    finally:
        os.close(reading)
        os.close(writing)


def live_frame(size: int) -> bytes:
    """Output as the sandbox's agent sends it during a run. `size` is the size that it claims."""
    header = f"{wire.LIVE} {size}".encode()
    return len(header).to_bytes(4, "big") + header + FORGED.encode()


async def with_forged_answers(context: Context) -> AttackVerdict:
    baseline = b'{"status": 0, "timeout": false, "left": []}\n'
    forged = [*map(live_frame, (len(FORGED), 10**9, -1)), frame(0), b"\xff" * 64]
    frames = [baseline] if context.is_control else forged
    tails: list[bytes] = []
    inputs = {"frames": [frame_bytes.hex() for frame_bytes in frames]}
    result = (await context.run(inputs=inputs, live_output=tails.append)).result
    if result.succeeded or FORGED in result.stdout.text:
        return reached(f"the forged answer was believed: {result.end} {result.exit_code}")
    if FORGED.encode() in b"".join(tails):
        return reached("forged output was passed on during the run")
    return held_verdict(f"{result.end} {result.exit_code}")


@attack(drive=with_forged_answers, control=AS_DRILL)
def forged_frames(inputs: Inputs) -> None:
    """Writes forged output and a forged answer into every descriptor that it finds, its own and
    other processes'."""
    pids = [] if in_host_processes(inputs) else visible()
    forged = [bytes.fromhex(frame_hex) for frame_hex in inputs["frames"]]

    def forge(descriptor: int) -> None:
        if allowed(os.set_blocking, descriptor, False):
            for frame_bytes in forged:
                allowed(os.write, descriptor, frame_bytes)

    for descriptor in range(3, 256):
        forge(descriptor)
    for pid in {*pids, os.getppid()} - {os.getpid()}:
        for number in range(256):
            named_descriptors = attempt(
                os.open, f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK
            )
            if named_descriptors is not None:
                forge(named_descriptors)
            handle = call("pidfd_open", pid, 0)
            if handle >= 0:
                fetched = call("pidfd_getfd", handle, number, 0)
                os.close(handle)
                if fetched >= 0:
                    forge(fetched)
    os._exit(7)


def succeeds() -> None:
    """A control: the program succeeds."""


async def by_signal_9(context: Context) -> AttackVerdict:
    result = (await context.run()).result
    if result.signal != 9:
        return reached(f"it ended as {result.end} {result.exit_code}, not by signal 9")
    return held_verdict()


@attack(drive=by_signal_9, control=OtherProbe(succeeds))
def false_success() -> None:
    """Dies by a signal while its children exit with 0 and print that the run succeeded."""

    def all_is_well(session: bool) -> None:
        if session:
            os.setsid()
        os.write(1, b'{"end": "exited", "exit_code": 0}\nend -\nstatus 0\n')

    for session in (False, True):
        child(all_is_well, session)
    os.wait()
    os.wait()
    os.kill(os.getpid(), signal.SIGKILL)


def hangs() -> None:
    """A control: the program hangs."""
    time.sleep(60)


@attack(
    limits=Limits(wall_seconds=4.0), drive=survives(End.EXITED, code=5), control=OtherProbe(hangs)
)
def closed_outputs() -> None:
    """Closes its outputs and every other descriptor, and continues."""
    os.closerange(0, 256)
    time.sleep(0.3)
    os._exit(5)


@attack(
    limits=Limits(wall_seconds=4.0),
    stdin=b"line\n" * 2000000,
    drive=survives(End.EXITED, code=6),
    control=OtherProbe(hangs),
)
def stdin_games() -> None:
    """Does not read megabytes of standard input, writes to it, closes it, and ends."""
    os.read(0, 10)
    for path in ("/dev/stdin", "/proc/self/fd/0"):
        for flags in (os.O_WRONLY | os.O_NONBLOCK, os.O_RDWR | os.O_NONBLOCK):
            descriptor = attempt(os.open, path, flags)
            if descriptor is not None:
                allowed(os.write, descriptor, b"x" * 100_000)
    os.close(0)
    time.sleep(0.2)
    os._exit(6)


def waits() -> None:
    """A control: the program waits."""
    time.sleep(7)
    os._exit(4)


@attack(drive=survives(End.EXITED, code=4, within=6.0), control=OtherProbe(waits))
def output_held_open() -> None:
    """Ends, while its daemon keeps its outputs open."""
    subprocess.Popen(["/bin/sleep", "20"], start_new_session=True)
    os._exit(4)


# Odd input and output


async def can_be_written_down(context: Context) -> AttackVerdict:
    observation = await context.run()
    for stream in (observation.result.stdout, observation.result.stderr):
        if not stream.text.startswith("odd:"):
            return broken(f"the output is {stream.text!r}")
        try:
            if json.loads(json.dumps(stream.text).encode()) != stream.text:
                return reached("the text changes on its way through JSON")
            stream.text.encode()
        except UnicodeError as error:
            return reached(f"the text of an output cannot be written down: {error}")
    return held_verdict(repr(observation.result.stdout.text))


@attack(drive=can_be_written_down)
def odd_bytes() -> None:
    """Writes bytes that are not text: NUL, lone surrogates, invalid and cut UTF-8,
    direction marks.
    """
    odd = (
        b"\0 \xed\xa0\x80 \xed\xb0\x80 \xc0\xaf \xff\xfe \xf8\x88\x80\x80\x80 \xe2\x80\xae \xf0\x9f"
    )
    for fd in (1, 2):
        os.write(fd, b"odd:" + odd)
    os._exit(0)


HOSTILE = ("\x1b", "\x07", "\x08", "\r", "\x9b", "\x9d", "\u202e")


def writes_escapes() -> None:
    """Writes sequences that move a cursor, rename a window and hide lines in a terminal."""
    odd = "odd \x1b[2J\x1b[1A\x1b]0;mine\x07 \x08\x08 over\rwritten \x9b31m \x9d \u202e txt"
    for fd in (1, 2):
        os.write(fd, odd.encode())
    os._exit(0)


def rendered(parts: list[Part]) -> str:
    """The output on a terminal, and in a pipe."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, color_system=None, width=100)
    for part in parts:
        console.print(draw(part))
    return screen.getvalue() + "\n".join(line for part in parts for line in plain_lines(part))


async def harmless_where_shown(context: Context) -> AttackVerdict:
    result = (await context.run()).result
    if "\x1b" not in result.stdout.text:
        return broken("the output did not arrive as it was written")
    streams = {
        name: {"text": output.text, "dropped_bytes": 0, "digest": None}
        for name, output in (("stdout", result.stdout), ("stderr", result.stderr))
    }
    run: dict[str, Any] = {
        "number": 1,
        "by": "executor",
        "end": "exited",
        "exit_code": 0,
        "seconds": 0.1,
        "succeeded": True,
        "artifacts": [],
        "refused": [result.stdout.text],
        **streams,
        "code": streams["stdout"],
    }
    naive: list[Part] = [Output(result.stdout.text)]
    text = rendered(naive if context.is_control else list(run_parts(run, Detail())))
    hostile_signs = [sign for sign in HOSTILE if sign in text]
    return reached(f"a terminal gets {hostile_signs}") if hostile_signs else held_verdict()


ansi_escapes = attack(drive=harmless_where_shown, control=OtherProbe(writes_escapes))(
    writes_escapes
)


def does_nothing() -> None:
    """A probe without effect: the commands of its drive are the attack."""


async def _each_ends(
    context: Context, commands: Iterable[Command], ends: set[End]
) -> AttackVerdict:
    """Run all of these commands; a command that raises, or ends in another way, is a fault."""
    wrong, answers = [], 0
    for command in commands:
        words = f"{command.argv!r}"[:60]
        try:
            observation = await context.command(command, replace(context.limits, wall_seconds=6))
        except (SandboxError, ValueError) as error:
            wrong.append(f"{words}: {type(error).__name__}: {error}")
            continue
        answers += 1
        if observation.result.end not in ends:
            wrong.append(f"{words}: {observation.result.end}")
    return reached("; ".join(wrong)) if wrong else held_verdict(f"{answers} answers")


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


async def each_code(context: Context) -> AttackVerdict:
    codes = ("import time; time.sleep(9)",) if context.is_control else CODES
    ends = {End.EXITED, End.SIGNALED, End.MEMORY}
    return await _each_ends(context, map(Command.python, codes), ends)


odd_code = attack(
    drive=each_code,
    control=OtherProbe(does_nothing),
    tries="Hands in code that is no proper text: surrogates, NUL, odd encodings, endless lines.",
)(does_nothing)

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


async def each_command(context: Context) -> AttackVerdict:
    commands = (("sleep", "9"),) if context.is_control else COMMANDS
    return await _each_ends(context, map(Command, commands), {End.EXITED})


odd_commands = attack(
    drive=each_command,
    control=OtherProbe(does_nothing),
    tries="Hands in command lines that no kernel takes: megabytes of words, odd signs, no program.",
)(does_nothing)

SIZE = 10 * 1024 * 1024


async def with_huge_code(context: Context) -> AttackVerdict:
    end = "" if context.is_control else "print(len(text))"
    observation = await context.command(Command.python(f"text = '{'x' * SIZE}'\n{end}"), LIMITS)
    if observation.result.stdout.text != f"{SIZE}\n":
        return reached(f"{observation.result.end}: {observation.result.stdout.text[:80]!r}")
    return held_verdict(f"{observation.seconds:.1f} s")


huge_code = attack(
    drive=with_huge_code, control=OtherProbe(does_nothing), tries="Hands in ten megabytes of code."
)(does_nothing)
