"""The nursery: an interpreter that has its libraries loaded, and is copied into every room.

It is the first process of the house, has one thread, holds no secret and never receives a byte of
a job: a datagram from the supervisor says how large `/work` is to be and brings the socket that the
room's agent will talk over, the doors of its control group, and where CLOCK is 1 that group's count
of processor time; the answer brings a pidfd of the room's first process. The job comes over that
socket, whose one end is in the room and whose other end is the worker's.

    make BYTES CLOCK + descriptors    -> made + descriptor, or failed WHY

Before that the nursery says `ready` once. When the supervisor is gone it ends, and the kernel ends
every room with it, for they are in pid namespaces below its own.
"""

# ruff: noqa: PTH102, PTH115, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import signal
import socket
import sys
from typing import Any, NoReturn

from sandbox.room import agent, interpreter, pages, preload, rehearsal
from sandbox.room.tally import Tally
from sandbox.room.walls import Walls

MESSAGE_BYTES = 4096
_DESCRIPTORS = 8
"""At most: a room's socket, a door for each hierarchy of control groups, and their clock."""
BROKEN = b"!"
"""What a room says in place of `agent.READY`, and then why."""

# linux/sched.h: NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWCGROUP comes with the walls.
_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_PIDFD = 0x1000
_FLAGS = ctypes.c_ulong(_NAMESPACES | _PIDFD | int(signal.SIGCHLD))
_CLONE = ctypes.c_long({"x86_64": 56, "aarch64": 220}[os.uname().machine])
_clone = ctypes.PyDLL(None, use_errno=True).syscall  # holds the interpreter's lock during a call
_pidfd = ctypes.c_int(-1)
_PIDFD_AT = ctypes.byref(_pidfd)


def main(control: int, stock: str) -> NoReturn:
    """Serve the supervisor at the other end of the socket `control`, until it is gone, with the
    modules of `preload.STOCKS` loaded; in a copy of this process, live the life of a room.
    """
    # A copy comes back to here first: what it leaves on its way, its code process, which has to
    # leave all that is ours, need not leave again, and so need not copy.
    _live(*_serve(control, stock))


def _serve(control: int, stock: str) -> tuple[int, list[int], int, _Outfit]:
    """Make the rooms that are asked for. Returns in each of them: its socket, the doors of its
    control group, the size of its `/work`, and what all rooms are given.
    """
    os.set_inheritable(control, False)
    # The kernel reaps rooms that have ended; the supervisor learns of it by their pidfds.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # the first process of a room is to catch nothing
    with open("/room/walls", encoding="utf-8") as file, open("/room/filter", "rb") as filter_:
        walls = Walls(file.read(), filter_.read())
    given = agent.Given.read("/room/given")
    fonts: dict[str, bytes] = {}
    if words := preload.STOCKS[stock]:
        preload.load(words)
        fonts = _files(walls.fonts)
        _close_fonts()
    known = interpreter.Known(given)
    outfit = _Outfit(walls, given, known, fonts)
    known.kept.append(outfit)
    rehearsal.rehearse("/room/rehearsal", known)
    gc.collect()
    gc.freeze()  # what came since: a collection in a copy would write to each of them
    known.renew()
    if words:
        pages.gather()
    _require_no_descriptors(control)
    talk = socket.socket(fileno=control)
    talk.send(b"ready")
    while True:
        data, fds, _, _ = socket.recv_fds(talk, MESSAGE_BYTES, _DESCRIPTORS)
        if not data:
            os._exit(0)
        if _make(talk, fds):
            room, *doors = fds
            _, size, has_clock = data.split()
            if has_clock == b"1":
                outfit.tally.cpu.clock = doors.pop()
            return room, doors, int(size), outfit


class _Outfit:
    """What every room is given, worked out once: a room that did it would copy what it reads."""

    def __init__(
        self,
        walls: Walls,
        given: agent.Given,
        known: interpreter.Known,
        fonts: dict[str, bytes],
    ) -> None:
        self.walls, self.given, self.known, self.fonts = walls, given, known, fonts
        self.tally = Tally()


def _make(talk: socket.socket, given: list[int]) -> bool:
    """Make one room, and tell the supervisor; True in the room."""
    try:
        pidfd = _copy()
    except OSError as error:
        talk.send(f"failed a new namespace: {error.strerror}".encode())
    else:
        if pidfd is None:
            os.close(talk.detach())
            return True
        _tell(talk, pidfd)
    for each in given:
        os.close(each)
    return False


def _tell(talk: socket.socket, pidfd: int) -> None:
    """Tell the supervisor of a room that has been made; or kill it, where its descriptor cannot be
    sent: too many are on their way, of this user's.
    """
    try:
        socket.send_fds(talk, [b"made"], [pidfd])
    except OSError as error:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        talk.send(f"failed to tell of a new room: {error.strerror}".encode())
    finally:
        os.close(pidfd)


def _copy() -> int | None:
    """Copy this process into new namespaces; a pidfd of the copy here, None in the copy.

    `os.fork` cannot do it: an `unshare` before it or after it leaves either the pid namespace or
    the user namespace the wrong one, or takes a second copy. So it is the system call itself. What
    CPython and glibc do around one mends locks that other threads held, and the thread's number;
    there are no other threads, and nothing here asks for the number. It is done in full where the
    room's first process forks the code's (`os.fork`), before anything of a job runs.
    """
    pid = _clone(_CLONE, _FLAGS, None, _PIDFD_AT, None, None)
    if pid < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return _pidfd.value if pid else None


def _live(room: int, doors: list[int], work_bytes: int, outfit: _Outfit) -> NoReturn:
    """The whole life of a room, in its first process; never returns.

    In the process that `prepare` forks it is left by `interpreter.Begin`, up to the bottom of the
    stack, where the code then runs: so nothing stands around that call.
    """
    try:
        for door in doors:  # what is charged from here on is the room's
            os.write(door, b"0")
            os.close(door)
        outfit.tally.locks = outfit.walls.put_up(work_bytes)
        _lay(outfit.walls.fonts, outfit.fonts)
        os.dup2(1, 2)  # from here on nobody listens to complaints
    except OSError as error:
        os.write(room, BROKEN + str(error).encode()[:MESSAGE_BYTES])
        os._exit(1)
    spare = interpreter.prepare(outfit.known)
    agent.serve(room, room, outfit.given, spare, outfit.tally)
    os._exit(0)


def _close_fonts() -> None:
    """Fonts that matplotlib has used are open files, in two of its caches."""
    manager: Any = sys.modules.get("matplotlib.font_manager")
    mathtext: Any = sys.modules.get("matplotlib.mathtext")
    if manager is not None and mathtext is not None:
        manager._get_font.cache_clear()  # noqa: SLF001
        mathtext.MathTextParser._parse_cached.cache_clear()  # noqa: SLF001
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def _require_no_descriptors(control: int) -> None:
    """A room would inherit what is open here; and a library's own objects would close, by a number
    that means something else by then, what the room has opened. Raises RuntimeError.
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


def _lay(directory: str, files: dict[str, bytes]) -> None:
    """Write files below `/tmp`, which is empty."""
    parts = directory.split("/")
    for depth in range(3, len(parts) + 1):
        os.mkdir("/".join(parts[:depth]))
    for name, data in files.items():
        fd = os.open(f"{directory}/{name}", os.O_WRONLY | os.O_CREAT, 0o644)
        os.write(fd, data)
        os.close(fd)
