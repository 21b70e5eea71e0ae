"""A run learns of another run at the same time, or affects it."""

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

from lab.drills.attacks.attack import Inputs, attack
from lab.drills.attacks.catalogue.drives import beside, ready, renamed
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import AttackVerdict, Observation
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
from sandbox.protocol import Command, End, Limits, SandboxUnavailable


def until_over(inputs: Inputs, act: Any = None) -> None:
    """In a holder: report ready, stay alive, and repeat `act`."""
    take_name(inputs["neighbour"])
    until = time.monotonic() + inputs["seconds"]
    while time.monotonic() < until:
        if act is not None:
            act()
        time.sleep(0.02)


# Sockets and terminals


def accepted(inputs: Inputs, server: socket.socket) -> str | None:
    """In a holder: whether a process connects to it while it lives; that process gets the holder's
    mark.
    """
    server.listen()
    server.settimeout(inputs["seconds"])
    take_name(inputs["neighbour"])
    try:
        peer, _ = server.accept()
    except TimeoutError:
        return None
    allowed(peer.sendall, inputs["neighbour"].encode())
    return "a neighbour has connected"


def hold_an_abstract_name(inputs: Inputs) -> str | None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{inputs['neighbour']}")
        return accepted(inputs, server)


@attack(drive=beside(hold_an_abstract_name))
def abstract_names(inputs: Inputs) -> str | None:
    """Connects to a concurrent run, by a socket with an abstract name."""
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        try:
            with socket.socket(socket.AF_UNIX, kind) as client:
                client.settimeout(1)
                client.connect(f"\0{inputs['neighbour']}")
                return "connected to a neighbour's socket"
        except OSError:
            continue
    listed = inputs["neighbour"].encode() in (read("/proc/net/unix") or b"")
    return "a neighbour's socket is listed" if listed else None


PORTS = (42_100, 42_140)


def hold_a_port(inputs: Inputs) -> str | None:
    with socket.socket() as server:
        next(port for port in range(*PORTS) if allowed(server.bind, ("127.0.0.1", port)))
        return accepted(inputs, server)


@attack(drive=beside(hold_a_port))
def loopback_ports(inputs: Inputs) -> str | None:
    """Connects to a concurrent run, by a port of loopback."""
    # Only a server that answers with the neighbour's mark belongs to the neighbour.
    for port in range(*PORTS):
        try:
            with socket.create_connection(("127.0.0.1", port), 0.5) as client:
                if client.recv(100).decode(errors="replace") == inputs["neighbour"]:
                    return f"a neighbour answered at port {port}"
        except OSError:
            continue
    return None


def hold_a_terminal(inputs: Inputs) -> str | None:
    # A sandbox without terminals has no terminal that could be opened.
    terminal, peer = attempt(os.openpty) or os.pipe()
    os.set_inheritable(peer, True)
    take_name(inputs["neighbour"])
    if select.select([terminal], [], [], inputs["seconds"])[0]:
        return f"a neighbour wrote {os.read(terminal, 100)!r} to this run's terminal"
    return None


@attack(drive=beside(hold_a_terminal))
def terminals() -> str | None:
    """Opens the terminal of a concurrent run."""
    names = [name for name in names_in("/dev/pts") if name.isdigit()]
    for name in names:
        if opens(f"/dev/pts/{name}", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK):
            return f"the terminal /dev/pts/{name} of another"
    return f"terminals of others: {names}" if names else None


# Files that every run sees


SHARED_PLACES = ("/tmp", "/dev/shm", "/var/tmp", "/run", "/work")


def hold_files(inputs: Inputs) -> None:
    paths = [f"{folder}/{inputs['neighbour']}" for folder in SHARED_PLACES]
    created = [path for path in paths if allowed(write, path, "neighbour")]
    until_over(inputs)
    for path in created:
        os.unlink(path)


@attack(drive=beside(hold_files))
def files_beside(inputs: Inputs) -> str | None:
    """Looks for the files of a concurrent run, and for its shared memory."""
    for folder in SHARED_PLACES:
        if os.path.exists(f"{folder}/{inputs['neighbour']}"):
            return f"a neighbour's file in {folder}"
    if allowed(lambda: shared_memory.SharedMemory(inputs["neighbour"]).close()):
        return "a neighbour's shared memory, by its name"
    return None


def use_common_files(inputs: Inputs) -> None:
    paths = ("/etc/hosts", "/etc/passwd", f"{os.path.dirname(os.__file__)}/this.py")
    until_over(inputs, lambda: [read(path, 1) for path in paths])


@attack(drive=beside(use_common_files))
def directory_notes() -> str | None:
    """Asks for a signal when a neighbour uses a directory that every run sees (dnotify)."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGIO})
    watched = []
    for path in ("/etc", os.path.dirname(os.__file__)):
        directory = attempt(os.open, path, os.O_RDONLY)
        events = fcntl.DN_ACCESS | fcntl.DN_MULTISHOT
        if directory is not None and allowed(fcntl.fcntl, directory, fcntl.F_NOTIFY, events):
            watched.append(path)
    if watched and signal.sigtimedwait({signal.SIGIO}, 1.2):
        return f"a signal for a neighbour's use of {' or '.join(watched)}"
    return None


@attack(drive=beside(use_common_files))
def file_watches() -> str | None:
    """Watches the library that all runs share, to see which files a neighbour opens."""
    library, folder = libc(), os.path.dirname(os.__file__)
    watch = library.inotify_init1(os.O_NONBLOCK)
    if watch < 0:
        return None
    # No other process opens this module. The imports of a run show its activity.
    for path in (f"{folder}/this.py", folder):
        library.inotify_add_watch(watch, path.encode(), 0x20)  # IN_OPEN
    if select.select([watch], [], [], 1.2)[0]:
        events = os.read(watch, 4096)
        if len(events) > 16 and b"this.py" not in events:
            return "someone opened a module of the library"
        return "a neighbour opened this.py"
    return None


def leased(inputs: Inputs) -> list[str]:
    """Files that any program opens to learn users and hosts, and a file of the holder itself."""
    names = ("passwd", "group", "hosts", "nsswitch.conf", "ld.so.cache", "fonts/fonts.conf")
    return [*(f"/etc/{name}" for name in names), f"/tmp/{inputs['neighbour']}"]


def hold_leases(inputs: Inputs) -> None:
    signal.signal(signal.SIGIO, signal.SIG_IGN)  # the signal reports a neighbour
    own_file = leased(inputs)[-1]
    write(own_file, "")
    try:
        for path in leased(inputs):
            file = attempt(os.open, path, os.O_RDONLY)
            if file is not None:  # F_SETLEASE: no other process may open the file
                allowed(fcntl.fcntl, file, 1024, fcntl.F_WRLCK)
        until_over(inputs)
    finally:
        os.unlink(own_file)


@attack(drive=beside(hold_leases))
def file_leases(inputs: Inputs) -> str | None:
    """Leases files that every run opens: a neighbour waits to open one, and this is visible."""
    for path in leased(inputs):
        try:
            os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        except BlockingIOError:
            return f"a neighbour holds a lease on {path}"
        except OSError:
            continue
    return None


def shared_files() -> list[str]:
    """Files that every run sees: of the library, of the system, and the few of `/etc`.

    Not `/` and the devices (`/dev/null`), because an unprivileged process cannot have copies of
    them: a lock on such a file is a bit that two sandboxes on `local` can exchange while both run.
    `docs/sandbox.md` lists it among the attacks that the backend does not prevent.
    """
    folder = os.path.dirname(os.__file__)
    candidates = [
        os.__file__,
        f"{folder}/this.py",
        os.path.realpath(sys.executable),
        "/usr/bin/env",
    ]
    candidates += ["/usr", "/usr/lib", "/etc/alternatives", sys.prefix, sys.base_prefix]
    candidates += ["/proc/version", "/proc/sys/kernel/ostype", "/run/main.py"]
    candidates += ["/etc", "/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/etc/fonts/fonts.conf"]
    candidates += ["/agent", "/agent/context", "/agent/sandbox/paths.py"]
    return [path for path in candidates if os.path.exists(path)]


def hold_locks(inputs: Inputs) -> None:
    for path in shared_files():
        file = attempt(os.open, path, os.O_RDONLY)
        if file is not None and allowed(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB):
            allowed(fcntl.lockf, file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    until_over(inputs)


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
    """The position in a file that the holder locks: a number that identifies the holder."""
    return int(mark.removeprefix("mark-")[:12], 16) + 1


def hold_a_numbered_lock(inputs: Inputs) -> None:
    file = os.open("own", os.O_RDWR | os.O_CREAT)
    number = lock_number(inputs["neighbour"])
    lock = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
    # F_OFD_SETLK: the lock belongs to the open file, and not to a process
    if not allowed(fcntl.fcntl, file, 37, lock):
        fcntl.fcntl(file, fcntl.F_SETLK, lock)
    until_over(inputs)


@attack(drive=beside(hold_a_numbered_lock))
def lock_table(inputs: Inputs) -> str | None:
    """Reads the kernel's table of locks, in which every process can show arbitrary data."""
    lines = (read("/proc/locks", 1 << 20) or b"").decode().splitlines()
    number = str(lock_number(inputs["neighbour"]))
    return next((f"a neighbour's lock: {line}" for line in lines if number in line), None)


# Processes, timers, descriptors


def wait_for_a_signal(inputs: Inputs) -> str | None:
    met: list[int] = []
    for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGCONT):
        signal.signal(number, lambda number, _: met.append(number))
    until_over(inputs)
    return f"a neighbour's signal {met[0]}" if met else None


@attack(
    ends=frozenset({End.KILLED}),  # the signal comes from its own sandbox, which is allowed
    drive=beside(wait_for_a_signal),
)
def signals(inputs: Inputs) -> str | None:
    """Looks for a concurrent run, and signals its processes."""
    for pid in visible():
        name = (read(f"/proc/{pid}/comm") or b"").decode(errors="replace").strip()
        if name == inputs["neighbour"][:15]:
            return f"a neighbour's process is to be seen: {pid}"
    for pid in inputs["pids"]:
        if allowed(os.kill, pid, signal.SIGUSR1):
            return f"a neighbour was signalled by its number on the host: {pid}"
    if os.path.exists("/work"):  # in a sandbox, every process that can be signalled is a target
        for pid in range(2, 600):
            if pid != os.getpid():
                allowed(os.kill, pid, signal.SIGUSR1)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        allowed(os.kill, -1, signal.SIGTERM)
    return None


def make_timers(most: int) -> int:
    """Make this number of timers, or as many as allowed: each timer counts as a pending signal of
    the user.
    """
    hard = resource.getrlimit(resource.RLIMIT_SIGPENDING)[1]
    resource.setrlimit(resource.RLIMIT_SIGPENDING, (1_024, hard))  # a sandbox already does the same
    library, timer, count = libc(), ctypes.c_void_p(), 0
    while count < most and library.timer_create(1, None, ctypes.byref(timer)) == 0:
        count += 1
    return count


def hold_all_timers(inputs: Inputs) -> None:
    if make_timers(20_000) == 20_000:
        raise OSError("there was no end to the timers")
    until_over(inputs)


@attack(drive=beside(hold_all_timers))
def timers() -> str | None:
    """Takes all timers that its user may have; a neighbour needs its own."""
    count = make_timers(500)
    return None if count == 500 else f"a neighbour has left {count} timers"


USUAL_LIMIT = 1024
"""The usual limit of open files of a new process, and so of a worker and its supervisor."""
SENDERS, EACH = 50, 250
HOLDING_SECONDS = 4.0
PAUSE_SECONDS = 1.5
"""The pause after the first neighbour, which has a ready sandbox. In the pause, the sandboxes of
later neighbours are made in the background.
"""
OVERHEAD_SECONDS = 1.0
"""If a run takes longer than its result says by more than this, it was started again."""


def passes_one(inputs: Inputs) -> str | None:
    """In a control: act as a supervisor, with the same user."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (inputs["limit"], inputs["limit"]))
    first, second = socket.socketpair()
    try:
        socket.send_fds(first, [b"x"], [second.fileno()])
    except OSError as error:
        return f"a neighbour could not pass a descriptor on: {error}"
    return None


def waits(inputs: Inputs) -> None:
    time.sleep(inputs["seconds"])


async def beside_a_supervisor(context: Context) -> Observation | AttackVerdict:
    if context.is_control:
        flood = await _underway(context)
        observation = await renamed(context).run(passes_one, inputs={"limit": USUAL_LIMIT})
        await flood
        return observation
    async with _usual(context) as own_context:
        long_run = asyncio.ensure_future(_neighbour(own_context, HOLDING_SECONDS))
        flood = await _underway(own_context)
        troubles = [await _neighbour(own_context, 0.0)]
        await asyncio.sleep(PAUSE_SECONDS)
        troubles += [
            await _neighbour(own_context, 0.0),
            await _neighbour(own_context, 0.0),
            await long_run,
        ]
        return judged(await flood, filter(None, troubles))


@asynccontextmanager
async def _usual(context: Context) -> AsyncIterator[Context]:
    """A separate backend that was started in the usual way."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with context.fresh() as own_context:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(USUAL_LIMIT, hard), hard))
            await own_context.sandbox.run(Command.python("print(1)"), Limits())
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        yield own_context


async def _neighbour(context: Context, seconds: float) -> str | None:
    """Run a neighbour that takes this number of seconds; returns its problem, if any."""
    try:
        observation = await renamed(context).run(waits, inputs={"seconds": seconds})
    except SandboxUnavailable as error:
        return f"a neighbour had no sandbox: {error}"
    if not observation.result.succeeded:
        return f"a neighbour's run ended as {observation.result.end}"
    if observation.seconds - observation.result.seconds > OVERHEAD_SECONDS:
        run, total = observation.result.seconds, observation.seconds
        return f"a neighbour's run of {run:.1f} s took {total:.1f} s"
    return None


async def _underway(context: Context) -> asyncio.Future[Observation]:
    """Wait until the attack's run has its descriptors in flight, or has ended."""
    shared = {"neighbour": context.mark, "seconds": HOLDING_SECONDS}
    flood = asyncio.ensure_future(context.run(inputs=shared))
    await ready(context.mark, flood)
    return flood


@attack(drive=beside_a_supervisor, alone=True)
def descriptors_in_flight(inputs: Inputs) -> None:
    """Puts thousands of descriptors in flight on sockets; the kernel counts them by user.

    The supervisor of the sandboxes sends descriptors, too.
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

    for _, sending, _ in full:  # each exceeds the kernel's count, and waits
        threading.Thread(target=send, args=(sending,), daemon=True).start()
    time.sleep(0.7)
    for taking, _, waiting in full:
        for _ in range(waiting):
            taking.recv(8)
    time.sleep(0.3)
    if len(sent) < len(full):
        raise RuntimeError(f"no more than {len(sent)} of {len(full)} were sent")
    until_over(inputs)
