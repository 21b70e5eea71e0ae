"""The walls of a room, put up from the inside by its first process before anything else.

The process has just been copied from the nursery into new namespaces of every kind, in which it is
all-powerful, and which are empty or a copy of the house's. It mounts what is the room's own, gives
up all power, and locks the door behind it: from there on neither it nor any child gets back out.
What is put up comes from `policy.walls`; nothing of a job is there yet.

Runs inside a room: the standard library alone.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct

from sandbox.room import landlock, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# linux/mount.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
# linux/prctl.h, linux/capability.h, linux/seccomp.h
_SET_DUMPABLE, _SET_SECCOMP, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT = 4, 22, 24, 38, 47
_AMBIENT_CLEAR, _CAPABILITY_V3, _FILTER = 4, 0x20080522, 2
# linux/sockios.h, linux/if.h
_SET_FLAGS, _UP, _RUNNING = 0x8914, 0x1, 0x40

_LIBC = ctypes.PyDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


class Walls:
    """What is put up in every room: `policy.walls` as text, and the assembled filter."""

    def __init__(self, text: str, filter_: bytes) -> None:
        told: dict[str, list[str]] = {}
        for key, value in wire.lines(text):
            told.setdefault(key, []).append(value)
        self.uid, self.hostname = int(told["uid"][0]), told["hostname"][0]
        self.score = told["score"][0]
        self.tmpfs = [tuple(value.split(" ")) for value in told["tmpfs"]]
        self.masks = [tuple(value.split(" ")) for value in told.get("mask", [])]
        self.fonts = told["fonts"][0]
        self.filter = filter_

    def put_up(self, work_bytes: int) -> None:
        """All of them, in the only order that works. Raises OSError with the step's name."""
        steps: tuple[Callable[[], None], ...] = (
            lambda: be_nobody(self.uid),
            lambda: name_host(self.hostname),
            raise_loopback,
            lambda: mount_own(self.tmpfs, work_bytes),
            lambda: mount_proc(self.masks),
            forbid_namespaces,
            lambda: offer_to_die_first(self.score),
            leave_the_session,
            forget_signals,
            drop_capabilities,
            hide_memory,
            lock_files,
            lambda: filter_calls(self.filter),
        )
        for step in steps:
            step()


def be_nobody(uid: int) -> None:
    """One user and one group exist here: both the code's, and the house's outside."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{uid} {uid} 1")


def name_host(name: str) -> None:
    """A name of its own, in its own uts namespace."""
    _call("sethostname", name.encode(), ctypes.c_size_t(len(name)))


def raise_loopback() -> None:
    """Loopback is the only interface of the room's network namespace; it starts out down."""
    import socket  # noqa: PLC0415  (once for each nursery, which has it loaded)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sh14x", b"lo", _UP | _RUNNING)
        fcntl.ioctl(any_socket, _SET_FLAGS, request)


def mount_own(tmpfs: list[tuple[str, ...]], work_bytes: int) -> None:
    """The places that can be written, each of a fixed size, over the house's empty ones; and
    terminals that no other room sees.
    """
    _mount("none", "/", None, _REC | _PRIVATE)
    for at, options in tmpfs:
        sized = options if "size=" in options else f"{options},size={work_bytes}"
        _mount("tmpfs", at, "tmpfs", _NOSUID | _NODEV, sized)
    _mount("devpts", "/dev/pts", "devpts", _NOSUID | _NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.chdir("/work")


def mount_proc(masks: list[tuple[str, ...]]) -> None:
    """A `/proc` of the room's own processes, with what tells of the machine covered."""
    _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)
    for path, nothing in masks:
        _mount(nothing, path, None, _BIND)


def forbid_namespaces() -> None:
    """No user namespace below this one: that is where attacks on the kernel tend to begin. The
    filter refuses the calls; this is the kernel's own count, which only the powerful could raise.
    """
    _write("/proc/sys/user/max_user_namespaces", "0")


def offer_to_die_first(score: str) -> None:
    """Where memory ends, the kernel is to take a room before anything else of the machine."""
    _write("/proc/self/oom_score_adj", score)


def leave_the_session() -> None:
    """No terminal, no process group and no session with anything outside."""
    os.setsid()


def forget_signals() -> None:
    """The first process of a pid namespace is only immune to signals that it does not catch."""
    for number in signal.valid_signals():
        if signal.getsignal(number) not in {signal.SIG_DFL, None}:
            signal.signal(number, signal.SIG_DFL)


def drop_capabilities() -> None:
    """Give up every capability, of every kind, and the means to gain one by running a program."""
    number = 0
    while _LIBC.prctl(_BOUNDING_DROP, number, 0, 0, 0) == 0:  # until the kernel knows no more
        number += 1
    _call("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    nothing = ctypes.create_string_buffer(24)  # struct __user_cap_data_struct[2]
    _call("capset", struct.pack("=Ii", _CAPABILITY_V3, 0), nothing)
    _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)


def hide_memory() -> None:
    """The code, of the same uid, cannot trace this process nor open what `/proc` has of it."""
    _call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


def lock_files() -> None:
    """Landlock, where the kernel has it: the same limits to writing once more, and no mounts."""
    landlock.restrict()


def filter_calls(assembled: bytes) -> None:
    """The system call filter, for this process and all that it starts."""
    program = _Program(len(assembled) // 8, assembled)  # of struct sock_filter
    _call("prctl", _SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _mount(source: str, at: str, kind: str | None, flags: int, options: str = "") -> None:
    _call(
        "mount",
        source.encode(),
        at.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
        what=f"mount {kind or 'bind'} {at}",
    )


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def _call(name: str, *arguments: object, what: str = "") -> None:
    """A function of libc that answers 0, or -1 and errno. Raises OSError."""
    if getattr(_LIBC, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what or name}: {os.strerror(number)}")
