"""What a run learns of, or does to, another one at the same time."""

from __future__ import annotations

import array
import asyncio
import ctypes
import fcntl
import os
import resource
import select
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing import shared_memory
from typing import Any

from sandbox.protocol import Command, End, Limits, SandboxUnavailable

from lab.drills.attacks.attack import Given, attack
from lab.drills.attacks.catalogue.drives import beside, ready, renamed
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import Observation, Verdict
from lab.drills.attacks.probes.primitives import (
    allowed,
    attempt,
    libc,
    names_in,
    opens,
    read,
    take_name,
    visible,
    write,
)


def until_over(given: Given, act: Any = None) -> None:
    """In a holder: it has what is to be found, and lives on, doing `act` on and on."""
    take_name(given["neighbour"])
    until = time.monotonic() + given["seconds"]
    while time.monotonic() < until:
        if act is not None:
            act()
        time.sleep(0.02)


# Sockets and terminals


def accepted(given: Given, server: socket.socket) -> str | None:
    """In a holder: whether somebody connects while it lives; who does gets its mark."""
    server.listen()
    server.settimeout(given["seconds"])
    take_name(given["neighbour"])
    try:
        peer, _ = server.accept()
    except TimeoutError:
        return None
    allowed(peer.sendall, given["neighbour"].encode())
    return "a neighbour has connected"


def hold_an_abstract_name(given: Given) -> str | None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{given['neighbour']}")
        return accepted(given, server)


@attack(drive=beside(hold_an_abstract_name))
def abstract_names(given: Given) -> str | None:
    """Connects to a run that goes on at the same time, by a socket with an abstract name."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as client:
                client.settimeout(1)
                client.connect(f"\0{given['neighbour']}")
                return "connected to a neighbour's socket"
        except OSError:
            continue
    listed = given["neighbour"].encode() in (read("/proc/net/unix") or b"")
    return "a neighbour's socket is listed" if listed else None


PORTS = (42_100, 42_140)


def hold_a_port(given: Given) -> str | None:
    with socket.socket() as server:
        next(
            port for port in range(*PORTS) if allowed(server.bind, ("127.0.0.1", port))
        )
        return accepted(given, server)


@attack(drive=beside(hold_a_port))
def loopback_ports(given: Given) -> str | None:
    """Connects to a run that goes on at the same time, by a port of loopback."""
    # Only a server that answers with the neighbour's mark is the neighbour's.
    for port in range(*PORTS):
        try:
            with socket.create_connection(("127.0.0.1", port), 0.5) as client:
                if client.recv(100).decode(errors="replace") == given["neighbour"]:
                    return f"a neighbour answered at port {port}"
        except OSError:
            continue
    return None


def hold_a_terminal(given: Given) -> str | None:
    # A sandbox without terminals has none to be opened.
    own, other = attempt(os.openpty) or os.pipe()
    os.set_inheritable(other, True)
    take_name(given["neighbour"])
    if select.select([own], [], [], given["seconds"])[0]:
        return f"a neighbour wrote {os.read(own, 100)!r} to this run's terminal"
    return None


@attack(drive=beside(hold_a_terminal))
def terminals() -> str | None:
    """Opens the terminal of a run that goes on at the same time."""
    names = [name for name in names_in("/dev/pts") if name.isdigit()]
    for name in names:
        if opens(f"/dev/pts/{name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK):
            return f"the terminal /dev/pts/{name} of another"
    return f"terminals of others: {names}" if names else None


# Files that every run sees


SHARED_PLACES = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/work")


def hold_files(given: Given) -> None:
    paths = [f"{place}/{given['neighbour']}" for place in SHARED_PLACES]
    made = [path for path in paths if allowed(write, path, "neighbour")]
    until_over(given)
    for path in made:
        os.unlink(path)


@attack(drive=beside(hold_files))
def files_beside(given: Given) -> str | None:
    """Looks for the files of a run that goes on at the same time, and for its shared memory."""
    for place in SHARED_PLACES:
        if os.path.exists(f"{place}/{given['neighbour']}"):
            return f"a neighbour's file in {place}"
    if allowed(lambda: shared_memory.SharedMemory(given["neighbour"]).close()):
        return "a neighbour's shared memory, by its name"
    return None


def use_common_files(given: Given) -> None:
    paths = ("/etc/hosts", "/etc/passwd", f"{os.path.dirname(os.__file__)}/this.py")
    until_over(given, lambda: [read(path, 1) for path in paths])


@attack(drive=beside(use_common_files))
def directory_notes() -> str | None:
    """Asks to be sent a signal when a neighbour uses a directory that every run sees (dnotify)."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    asked = []
    for path in ("/etc", os.path.dirname(os.__file__)):
        directory = attempt(os.open, path, os.O_RDONLY)
        wanted = fcntl.DN_ACCESS | fcntl.DN_MULTISHOT
        if directory is not None and allowed(
            fcntl.fcntl, directory, fcntl.F_NOTIFY, wanted
        ):
            asked.append(path)
    if asked and signal.sigtimedwait({signal.SIGIO}, 1.2):
        return f"a signal for a neighbour's use of {' or '.join(asked)}"
    return None


@attack(drive=beside(use_common_files))
def file_watches() -> str | None:
    """Watches the library that all runs share, to see what a neighbour opens."""
    library, folder = libc(), os.path.dirname(os.__file__)
    watch = library.inotify_init1(os.O_NONBLOCK)
    if watch < 0:
        return None
    # Nobody else opens this module. What a run imports shows what it works on.
    for path in (f"{folder}/this.py", folder):
        library.inotify_add_watch(watch, path.encode(), 0x20)  # IN_OPEN
    if select.select([watch], [], [], 1.2)[0]:
        events = os.read(watch, 4096)
        if len(events) > 16 and b"this.py" not in events:
            return "someone opened a module of the library"
        return "a neighbour opened this.py"
    return None


def leased(given: Given) -> list[str]:
    """Files that any program opens to know users and hosts; and one of the holder's own."""
    names = (
        "passwd",
        "group",
        "hosts",
        "nsswitch.conf",
        "ld.so.cache",
        "fonts/fonts.conf",
    )
    return [*(f"/etc/{name}" for name in names), f"/tmp/{given['neighbour']}"]


def hold_leases(given: Given) -> None:
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # it reports a neighbour
    own = leased(given)[-1]
    write(own, "")
    try:
        for path in leased(given):
            file = attempt(os.open, path, os.O_RDONLY)
            if file is not None:  # F_SETLEASE: nobody else may open it
                allowed(fcntl.fcntl, file, 1024, fcntl.F_WRLCK)
        until_over(given)
    finally:
        os.unlink(own)


@attack(drive=beside(hold_leases))
def file_leases(given: Given) -> str | None:
    """Leases files that every run opens: a neighbour waits to open one, and that is seen."""
    for path in leased(given):
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except BlockingIOError:
            return f"a neighbour holds a lease on {path}"
        except OSError:
            continue
    return None


def shared_files() -> list[str]:
    """Files that every run sees: of the library, of the system, and the few of `/etc`.

    Not `/` and the devices (`/dev/null`), which no unprivileged process can have copies of: a lock
    on one of those is a bit that two sandboxes on `local` can exchange while both run.
    `docs/sandbox.md` names it under what the backend does not stop.
    """
    folder = os.path.dirname(os.__file__)
    found = [
        os.__file__,
        f"{folder}/this.py",
        os.path.realpath(sys.executable),
        "/usr/bin/env",
    ]
    found += ["/usr", "/usr/lib", "/etc/alternatives", sys.prefix, sys.base_prefix]
    found += ["/proc/version", "/proc/sys/kernel/ostype", "/run/main.py"]
    found += [
        "/etc",
        "/etc/passwd",
        "/etc/hosts",
        "/etc/ld.so.cache",
        "/etc/fonts/fonts.conf",
    ]
    found += ["/agent", "/agent/context", "/agent/sandbox/paths.py"]
    return [each for each in found if os.path.exists(each)]


def hold_locks(given: Given) -> None:
    for path in shared_files():
        file = attempt(os.open, path, os.O_RDONLY)
        if file is not None and allowed(
            fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB
        ):
            allowed(fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    until_over(given)


@attack(drive=beside(hold_locks))
def file_locks() -> str | None:
    """Locks files that all runs share: one run stops another, or sends it a bit."""
    for path in shared_files():
        file = attempt(os.open, path, os.O_RDONLY)
        if file is None:
            continue
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return f"a neighbour holds a lock on {path}"
        except OSError:
            continue
        finally:
            os.close(file)
    return None


def lock_number(mark: str) -> int:
    """Where in a file the holder locks: a number that says whose lock it is."""
    return int(mark.removeprefix("mark-")[:12], 16) + 1


def hold_a_numbered_lock(given: Given) -> None:
    file = os.open("own", os.O_RDWR | os.O_CREAT)
    place = lock_number(given["neighbour"])
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
    # F_OFD_SETLK: a lock of the open file, and of no process
    if not allowed(fcntl.fcntl, file, 37, lock):
        fcntl.fcntl(file, fcntl.F_SETLK, lock)
    until_over(given)


@attack(drive=beside(hold_a_numbered_lock))
def lock_table(given: Given) -> str | None:
    """Reads the kernel's table of locks, where every process may show what it likes."""
    lines = (read("/proc/locks", 1 << 20) or b"").decode().splitlines()
    wanted = str(lock_number(given["neighbour"]))
    return next(
        (f"a neighbour's lock: {line}" for line in lines if wanted in line), None
    )


# Processes, timers, descriptors


def wait_for_a_signal(given: Given) -> str | None:
    met: list[int] = []
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGCONT):
        signal.signal(number, lambda number, _: met.append(number))
    until_over(given)
    return f"a neighbour's signal {met[0]}" if met else None


@attack(
    ends=frozenset({End.KILLED}),  # of its own sandbox, which is its own affair
    drive=beside(wait_for_a_signal),
)
def signals(given: Given) -> str | None:
    """Looks for a run that goes on at the same time, and signals its processes."""
    for pid in visible():
        name = (read(f"/proc/{pid}/comm") or b"").decode(errors="replace").strip()
        if name == given["neighbour"][:15]:
            return f"a neighbour's process is to be seen: {pid}"
    for pid in given["pids"]:
        if allowed(os.kill, pid, signal.SIGUSR1):
            return f"a neighbour was signalled by its number on the host: {pid}"
    if os.path.exists(
        "/work"
    ):  # a sandbox: whatever can be signalled here is meant to be tried
        for pid in range(2, 600):
            if pid != os.getpid():
                allowed(os.kill, pid, signal.SIGUSR1)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        allowed(os.kill, -1, signal.SIGTERM)
    return None


def make_timers(most: int) -> int:
    """Make so many, or as many as one gets: each is one of a user's pending signals."""
    hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    resource.setrlimit(
        resource.RLIMIT_SIGPENDING, (1_024, hard)
    )  # as it is in a sandbox already
    library, timer, made = libc(), ctypes.c_void_p(), 0
    while made < most and library.timer_create(1, None, ctypes.byref(timer)) == 0:
        made += 1
    return made


def hold_all_timers(given: Given) -> None:
    if make_timers(20_000) == 20_000:
        raise OSError("there was no end to the timers")
    until_over(given)


@attack(drive=beside(hold_all_timers))
def timers() -> str | None:
    """Takes all timers that its user may have: a neighbour is to have its own."""
    made = make_timers(500)
    return None if made == 500 else f"a neighbour has left {made} timers"


USUAL_LIMIT = 1024
"""Of open files: what most systems start a process with, and so a worker and its supervisor."""
SENDERS, EACH = 50, 250
HOLDING_SECONDS = 4.0
PAUSE_SECONDS = 1.5
"""Sandboxes stand ready for the first neighbour; those of later ones are made meanwhile."""
OVERHEAD_SECONDS = 1.0
"""What is more was spent in vain: the run has lost its sandbox, and was begun again."""


def passes_one(given: Given) -> str | None:
    """In a control: what a supervisor does, as the same user."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (given["limit"], given["limit"]))
    one, other = socket.socketpair()
    try:
        socket.send_fds(one, [b"x"], [other.fileno()])
    except OSError as error:
        return f"a neighbour could not pass a descriptor on: {error}"
    return None


def waits(given: Given) -> None:
    time.sleep(given["seconds"])


async def beside_a_supervisor(context: Context) -> Observation | Verdict:
    if context.is_control:
        flood = await _underway(context)
        seen = await renamed(context).run(passes_one, given={"limit": USUAL_LIMIT})
        await flood
        return seen
    async with _usual(context) as own:
        long_run = asyncio.ensure_future(_neighbour(own, HOLDING_SECONDS))
        flood = await _underway(own)
        troubles = [await _neighbour(own, 0.0)]
        await asyncio.sleep(PAUSE_SECONDS)
        troubles += [
            await _neighbour(own, 0.0),
            await _neighbour(own, 0.0),
            await long_run,
        ]
        return judged(await flood, filter(None, troubles))


@asynccontextmanager
async def _usual(context: Context) -> AsyncIterator[Context]:
    """A backend of its own that was started as most are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with context.fresh() as own:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_LIMIT, hard), hard))
            await own.sandbox.run(Command.python("print(1)"), Limits())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield own


async def _neighbour(context: Context, seconds: float) -> str | None:
    """Another run, of a program that takes so long; the trouble that it had, if any."""
    try:
        seen = await renamed(context).run(waits, given={"seconds": seconds})
    except SandboxUnavailable as error:
        return f"a neighbour had no sandbox: {error}"
    if not seen.result.succeeded:
        return f"a neighbour's run ended as {seen.result.end}"
    if seen.seconds - seen.result.seconds > OVERHEAD_SECONDS:
        return f"a neighbour's run of {seen.result.seconds:.1f} s took {seen.seconds:.1f} s"
    return None


async def _underway(context: Context) -> asyncio.Future[Observation]:
    """The attack's run, when it has its descriptors on their way, or has ended."""
    shared = {"neighbour": context.mark, "seconds": HOLDING_SECONDS}
    flood = asyncio.ensure_future(context.run(given=shared))
    await ready(context.mark, flood)
    return flood


@attack(drive=beside_a_supervisor, alone=True)
def descriptors_in_flight(given: Given) -> None:
    """Has thousands of descriptors on their way through sockets, which the kernel counts by user.

    Who supervises the sandboxes sends some, too.
    """
    null = os.open("/dev/null", os.O_RDONLY)
    carried = array.array("i", [null] * EACH)
    full = []
    for number in range(SENDERS):
        taking = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        taking.bind(f"{number}.socket")
        sending = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        sending.connect(taking.getsockname())
        sending.setblocking(False)
        waiting = 0
        while waiting < 500 and allowed(sending.send, b"x"):
            waiting += 1
        sending.setblocking(True)
        full.append((taking, sending, waiting))

    sent = []

    def send(sending: socket.socket) -> None:
        sending.sendmsg([b"y"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, carried)])
        sent.append(sending)

    for _, sending, _ in full:  # each is past the kernel's count, and waits for a place
        threading.Thread(target=send, args=(sending,), daemon=True).start()
    time.sleep(0.7)
    for taking, _, waiting in full:
        for _ in range(waiting):
            taking.recv(8)
    time.sleep(0.3)
    if len(sent) < len(full):
        raise RuntimeError(f"no more than {len(sent)} of {len(full)} were sent")
    until_over(given)
