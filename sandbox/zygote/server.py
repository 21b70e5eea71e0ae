"""The zygote: an interpreter that has its libraries loaded, and is copied into every sandbox.

It is the first process of the base container, has one thread, holds no secret and never receives a
byte of a job: a datagram from the supervisor says how large `/work` is to be, which port is to be
listened on for a proxy (0: none) and which layers `/work` begins with, as a copy of them where COPY
is 1; and it brings the socket that the sandbox's agent will talk over, descriptors of its control
group's member lists, and where CLOCK is 1 that group's count of processor time. The answer brings a
pidfd of the sandbox's first process. The job comes over that socket, whose one end is in the
sandbox and whose other end is the worker's.

    make BYTES INODES PORT CLOCK COPY [LAYER ...] + descriptors -> made + descriptor, or failed WHY

Before that the zygote says `ready` once. When the supervisor is gone it ends, and the kernel ends
every sandbox with it, for they are in pid namespaces below its own.
"""

# ruff: noqa: PTH115, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Sequence
from typing import NoReturn

from sandbox.agent import serve, wire
from sandbox.agent.isolation import Isolation
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.walk import Base
from sandbox.zygote import interpreter, preload

MESSAGE_BYTES = 4096
_DESCRIPTORS = 8
"""At most: a sandbox's socket, a member list for each hierarchy of control groups, and a clock."""

_BACKLOG = 64
"""Connections to a proxy that nobody has taken yet."""

# linux/sched.h: NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWCGROUP comes with `isolation`.
_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_PIDFD = 0x1000
_FLAGS = ctypes.c_ulong(_NAMESPACES | _PIDFD | int(signal.SIGCHLD))
_CLONE = ctypes.c_long({"x86_64": 56, "aarch64": 220}[os.uname().machine])
_clone = ctypes.PyDLL(None, use_errno=True).syscall  # holds the interpreter's lock during a call


class _Wanted:
    """What one sandbox is to be."""

    def __init__(self, words: Sequence[str]) -> None:
        self.work_bytes, self.work_inodes = int(words[0]), int(words[1])
        self.proxy_port = int(words[2])
        self.base = Base(words[5:], copies=words[4] == "1") if words[5:] else None


class _Context:
    """What every sandbox is given."""

    def __init__(
        self, isolation: Isolation, given: serve.AgentContext, fonts: dict[str, bytes]
    ) -> None:
        self.isolation, self.given, self.fonts = isolation, given, fonts
        self.monitor = ResourceMonitor()


def main(control: int, *, libraries: bool) -> NoReturn:
    """Serve the supervisor at the other end of the socket `control`, until it is gone, with the
    usual `libraries` loaded or not; in a copy of this process, live the life of a sandbox.
    """
    # A copy comes back to here first, so that little stands around the code it will run.
    _live(*_serve(control, libraries=libraries))


def _serve(control: int, *, libraries: bool) -> tuple[int, list[int], _Wanted, _Context]:
    """Make the sandboxes that are asked for. Returns in each of them: its socket, the member lists
    of its control group, what it is to be, and what all of them are given.
    """
    os.set_inheritable(control, False)
    # The kernel reaps sandboxes that have ended; the supervisor learns of it by their pidfds.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process of a sandbox catches nothing
    preload.load(libraries=libraries)
    with open("/agent/isolation", encoding="utf-8") as file, open("/agent/filter", "rb") as filter_:
        isolation = Isolation(file.read(), filter_.read())
    context = _Context(isolation, serve.AgentContext.read("/agent/given"), _files(isolation.fonts))
    _require_no_descriptors(control)
    talk = socket.socket(fileno=control)
    talk.send(b"ready")
    while True:
        data, fds, _, _ = socket.recv_fds(talk, MESSAGE_BYTES, _DESCRIPTORS)
        if not data:
            os._exit(0)
        if _make(talk, fds):
            sandbox, *groups = fds
            words = data.decode().split()[1:]
            if words[3] == "1":
                context.monitor.cpu.clock = groups.pop()
            return sandbox, groups, _Wanted(words), context


def _make(talk: socket.socket, given: list[int]) -> bool:
    """Make one sandbox, and report it to the supervisor; True in the sandbox."""
    try:
        pidfd = _copy()
    except OSError as error:
        talk.send(f"failed a new namespace: {error.strerror}".encode())
    else:
        if pidfd is None:
            os.close(talk.detach())
            return True
        _report(talk, pidfd)
    for each in given:
        os.close(each)
    return False


def _report(talk: socket.socket, pidfd: int) -> None:
    """Report a sandbox that has been made; or kill it, where its descriptor cannot be sent: too
    many are on their way, of this user's.
    """
    try:
        socket.send_fds(talk, [b"made"], [pidfd])
    except OSError as error:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        talk.send(f"failed to report a new sandbox: {error.strerror}".encode())
    finally:
        os.close(pidfd)


def _copy() -> int | None:
    """Copy this process into new namespaces; a pidfd of the copy here, None in the copy.

    `os.fork` cannot do it: an `unshare` before it or after it leaves either the pid namespace or
    the user namespace the wrong one, or takes a second copy. So it is the system call itself. What
    CPython and glibc do around one repairs locks that other threads held, and the thread's number;
    there are no other threads, and nothing here asks for the number. It is done in full where the
    sandbox's first process forks the code's (`os.fork`), before anything of a job runs.
    """
    pidfd = ctypes.c_int(-1)
    pid = _clone(_CLONE, _FLAGS, None, ctypes.byref(pidfd), None, None)
    if pid < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return pidfd.value if pid else None


def _live(sandbox: int, groups: list[int], wanted: _Wanted, context: _Context) -> NoReturn:
    """The whole life of a sandbox, in its first process; never returns.

    In the process that `prepare` forks, `interpreter.ForkedChild` unwinds the stack to its bottom,
    and the code runs there. So no `try` may surround that call.
    """
    base = wanted.base
    try:
        for group in groups:  # what is charged from here on is the sandbox's
            os.write(group, b"0")
            os.close(group)
        context.monitor.locks = context.isolation.apply(wanted.work_bytes, wanted.work_inodes, base)
        listening = _listen(wanted.proxy_port) if wanted.proxy_port else None
        _write_files(context.isolation.fonts, context.fonts)
        os.dup2(1, 2)  # from here on nobody reads its stderr
    except OSError as error:
        os.write(sandbox, wire.BROKEN + str(error).encode()[:MESSAGE_BYTES])
        os._exit(1)
    waiting = interpreter.prepare(context.given)
    serve.serve(sandbox, sandbox, context.given, waiting, context.monitor, base, listening)
    os._exit(0)


def _listen(port: int) -> int:
    """Listen where the code finds its proxy. Whoever is given the socket answers, in whatever
    network namespace he is.
    """
    listening = socket.socket()
    listening.bind(("127.0.0.1", port))
    listening.listen(_BACKLOG)
    return listening.detach()


def _require_no_descriptors(control: int) -> None:
    """A sandbox would inherit what is open here; and a library's own objects would close, by a
    number that means something else by then, what the sandbox has opened. Raises RuntimeError.
    """
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            file = os.readlink(f"/proc/self/fd/{name}")
            if int(name) not in {0, 1, 2, control}:
                raise RuntimeError(f"{file} was left open")


def _files(directory: str) -> dict[str, bytes]:
    """The files of a directory by name; none where it is not there."""
    found: dict[str, bytes] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                found[name] = file.read()
    return found


def _write_files(directory: str, files: dict[str, bytes]) -> None:
    """Write files below `/tmp`, which is empty."""
    os.makedirs(directory)  # noqa: PTH103
    for name, data in files.items():
        with open(f"{directory}/{name}", "wb") as file:
            file.write(data)
