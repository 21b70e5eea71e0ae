"""Isolation of a sandbox, applied from the inside by its first process before anything else.

The process has just been copied from the zygote into new namespaces of every kind, in which it is
all-powerful, and which are empty or a copy of the base container's. It mounts what is the sandbox's
own, and gives up all power: from there on neither it nor any child gets back out. What is put up
comes from `policy.isolation`; nothing of a job is there yet.

The zygote works out the steps once (one function for each kind of step); a sandbox only takes them.
It shares the zygote's pages until it writes to them, if only a reference count, and each first
write costs as much as a system call: a step is little more than one.

Runs inside a sandbox: the standard library alone.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from functools import partial

from sandbox.agent import landlock, wire
from sandbox.agent.copy import copy_layers
from sandbox.agent.walk import Base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Step = tuple[str, Callable[[], int | None]]
    """What it does, for a complaint; and a call that answers -1 and sets errno, or raises OSError,
    where it fails.
    """

# linux/mount.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_NEWCGROUP = 0x2000000  # linux/sched.h
# linux/prctl.h, linux/capability.h, linux/seccomp.h
_SET_DUMPABLE, _SET_SECCOMP, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT = 4, 22, 24, 38, 47
_AMBIENT_CLEAR, _CAPABILITY_V3, _FILTER = 4, 0x20080522, 2
# linux/sockios.h, linux/if.h, linux/socket.h
_SET_FLAGS, _UP, _RUNNING, _INET, _DATAGRAM = 0x8914, 0x1, 0x40, 2, 2
_ESCAPED = str.maketrans({each: f"\\{each}" for each in "\\:,"})
_LOOPBACK_UP = struct.pack("16sh14x", b"lo", _UP | _RUNNING)

_LOCKS = b"/proc/locks"
_open_locks = partial(os.open, _LOCKS, os.O_RDONLY | os.O_CLOEXEC)

_LIBC = ctypes.PyDLL(None, use_errno=True)
_socket, _ioctl = _LIBC.socket, _LIBC.ioctl


class _Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


class Isolation:
    """What is put up in every sandbox: `policy.isolation` as text, and the assembled filter."""

    def __init__(self, text: str, filter_: bytes) -> None:
        spec: dict[str, list[str]] = {}
        for key, value in wire.lines(text):
            spec.setdefault(key, []).append(value)
        self.fonts = spec["fonts"][0]
        self._layers = spec["layers"][0]
        tmpfs = dict(value.split(" ") for value in spec["tmpfs"])
        self._work = tmpfs.pop("/work")
        masks = dict(value.split(" ") for value in spec.get("mask", []))
        self._before = (
            *be_nobody(spec["uid"][0]),
            *forget_groups(),
            *name_host(spec["hostname"][0]),
            *raise_loopback(spec.get("sysctl", [])),
            *part_trees(spec.get("tree", [])),
        )
        self._after = (
            *mount_own(tmpfs),
            *mount_proc(),
            *open_locks(),
            *forbid_namespaces(),
            *mask(masks),
            *offer_to_die_first(spec["score"][0]),
            *leave_the_session(),
            *drop_capabilities(),
            *hide_memory(),
            *lock_files(),
            *filter_calls(filter_),
        )

    def apply(self, work_bytes: int, work_inodes: int, base: Base | None = None) -> int | None:
        """All of them, in the only order that works; returns a descriptor of the table of locks for
        the monitor, where this kernel has one. Opens the directories of a `base`, and closes it to
        everybody else. Raises OSError with the step's name.
        """
        options = f"{self._work},size={work_bytes},nr_inodes={work_inodes}"
        work: Iterable[Step] = (_mount("tmpfs", "/work", "tmpfs", _NOSUID | _NODEV, options),)
        if base is not None:
            work = join_layers(base, self._layers, *work)
        table: int | None = None
        for name, take in (*self._before, *work, *self._after):
            try:
                answer = take()
            except OSError as error:
                raise OSError(error.errno, f"{name}: {error.strerror}") from error
            if answer == -1:
                number = ctypes.get_errno()
                raise OSError(number, f"{name}: {os.strerror(number)}")
            if take is _open_locks:
                table = answer
        return table


def be_nobody(uid: str) -> Iterator[Step]:
    """One user and one group exist here: both the code's, and the supervisor's outside."""
    yield _write("/proc/self/setgroups", "deny")
    yield _write("/proc/self/uid_map", f"{uid} {uid} 1")
    yield _write("/proc/self/gid_map", f"{uid} {uid} 1")


def forget_groups() -> Iterator[Step]:
    """The control groups that this process is in by now are the topmost that are seen: their own
    names say something of the supervisor.
    """
    yield _call("unshare", _NEWCGROUP)


def name_host(name: str) -> Iterator[Step]:
    """A name of its own, in its own uts namespace."""
    yield _call("sethostname", name.encode(), ctypes.c_size_t(len(name)))


def raise_loopback(sysctls: list[str]) -> Iterator[Step]:
    """Loopback is the only interface of the sandbox's network namespace; it starts out down. What
    is set in the namespace besides (`policy.SYSCTLS`) keeps its sockets small.
    """

    def up() -> int:
        fd = _socket(_INET, _DATAGRAM, 0)  # any socket will do
        answer = int(_ioctl(fd, _SET_FLAGS, _LOOPBACK_UP))
        os.close(fd)
        return answer

    yield "loopback", up
    for each in sysctls:
        yield _write(*each.split(" ", 1))


def part_trees(trees: list[str]) -> Iterator[Step]:
    """Lay over each of the trees a file system of the sandbox's own that shows the same. Who can
    read a file can lock it, and a lock belongs to the file: so no other sandbox meets it.

    Kernels before 5.11 refuse it, and the sandboxes do without: the doctor reports it
    (`layers.locks`).
    """
    yield _mount("none", "/", None, _REC | _PRIVATE)
    for at in trees:
        if os.path.isdir(at):  # noqa: PTH112
            # An overlay that nobody writes to takes two: `/work` is still empty. It comes first,
            # since statfs shows the first one's file system: of the tree's own it would show the
            # size and the free space of the host's disk.
            options = f"lowerdir=/work:{at.translate(_ESCAPED)}"
            name, mount_overlay = _mount(
                "overlay", at, "overlay", _RDONLY | _NOSUID | _NODEV, options
            )
            yield name, partial(_try, mount_overlay)


def join_layers(base: Base, place: str, tmpfs: Step) -> Iterator[Step]:
    """A `/work` that shows layers, and takes what is written into a tmpfs of its own: an overlay,
    or where the base says so a copy. Each of the mounts here covers the one before. `place`, the
    directory of all layers, is covered by the sandbox's own `/run` afterwards.
    """
    lower = f"userxattr,lowerdir={':'.join(f'{place}/{name}' for name in base.names)}"
    flags = _NOSUID | _NODEV

    def open_layers() -> None:
        base.layers = os.open("/work", os.O_RDONLY | os.O_CLOEXEC)

    def open_upper() -> None:
        # A kernel before 6.6 has none on a tmpfs, and then an overlay fails where a directory is
        # made in the place of one that was removed.
        os.setxattr("/work", "user.overlay", b"")
        for name in ("upper", "work"):
            os.mkdir(f"/work/{name}", 0o755)  # noqa: PTH102
        base.upper = os.open("/work/upper", os.O_RDONLY | os.O_CLOEXEC)

    # It takes two, where there is none to write to: `/work` is an empty one still.
    yield _mount("overlay", "/work", "overlay", _RDONLY | flags, f"{lower}:/work")
    yield "open layers", open_layers
    yield tmpfs
    if base.copies:
        yield "copy layers", partial(copy_layers, base, "/work")
        return
    yield "extended attributes of tmpfs", open_upper
    upper = "upperdir=/work/upper,workdir=/work/work"
    yield _mount("overlay", "/work", "overlay", flags, f"{lower},{upper}")


def mount_own(tmpfs: dict[str, str]) -> Iterator[Step]:
    """The places that can be written, each of a fixed size, over empty ones; and
    terminals that no other sandbox sees.
    """
    for at, options in tmpfs.items():
        yield _mount("tmpfs", at, "tmpfs", _NOSUID | _NODEV, options)
    terminals = "newinstance,ptmxmode=0666,mode=620"
    yield _mount("devpts", "/dev/pts", "devpts", _NOSUID | _NOEXEC, terminals)


def mount_proc() -> Iterator[Step]:
    """A `/proc` of the sandbox's own processes."""
    yield _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def open_locks() -> Iterator[Step]:
    """Before they are covered."""
    if os.path.exists(_LOCKS):  # noqa: PTH110
        yield "open the locks", _open_locks


def mask(masks: dict[str, str]) -> Iterator[Step]:
    """Cover what `/proc` shows of the machine; nothing is written to it after this."""
    for path, nothing in masks.items():
        yield _mount(nothing, path, None, _BIND)
    yield _call("chdir", b"/work")


def forbid_namespaces() -> Iterator[Step]:
    """No user namespace below this one: that is where attacks on the kernel tend to begin. The
    filter refuses the calls; this is the kernel's own count, which only the powerful could raise.
    """
    yield _write("/proc/sys/user/max_user_namespaces", "0")


def offer_to_die_first(score: str) -> Iterator[Step]:
    """Where memory ends, the kernel is to take a sandbox before anything else of the machine."""
    yield _write("/proc/self/oom_score_adj", score)


def leave_the_session() -> Iterator[Step]:
    """No terminal and no process group with anything outside. Children report how they ended, which
    the zygote does not want to know of its own.
    """
    yield "setsid", os.setsid
    yield _call("signal", int(signal.SIGCHLD), None)


def drop_capabilities() -> Iterator[Step]:
    """Give up every capability, of every kind, and the means to gain one by running a program."""
    for number in range(_last_capability() + 1):
        yield f"capability {number}", partial(_LIBC.prctl, _BOUNDING_DROP, number, 0, 0, 0)
    yield _call("prctl", _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    nothing = ctypes.create_string_buffer(24)  # struct __user_cap_data_struct[2]
    yield _call("capset", struct.pack("=Ii", _CAPABILITY_V3, 0), nothing)
    yield _call("prctl", _NO_NEW_PRIVS, 1, 0, 0, 0)


def hide_memory() -> Iterator[Step]:
    """The code, of the same uid, cannot trace this process nor open what `/proc` has of it."""
    yield _call("prctl", _SET_DUMPABLE, 0, 0, 0, 0)


def lock_files() -> Iterator[Step]:
    """Landlock, where the kernel has it: the same limits to writing once more, and no mounts."""
    yield "landlock", landlock.Rules().restrict


def filter_calls(assembled: bytes) -> Iterator[Step]:
    """The system call filter, for this process and all that it starts."""
    program = _Program(len(assembled) // 8, assembled)  # of struct sock_filter
    yield _call("prctl", _SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read())


def _mount(source: str, at: str, kind: str | None, flags: int, options: str = "") -> Step:
    arguments = (
        source.encode(),
        at.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    return f"mount {kind or 'bind'} {at}", partial(_LIBC.mount, *arguments)


def _try(call: Callable[[], int | None]) -> None:
    call()


def _write(path: str, text: str) -> Step:
    def write() -> None:
        fd = os.open(place, os.O_WRONLY)
        os.write(fd, data)
        os.close(fd)

    place, data = path.encode(), text.encode()
    return f"write {path}", write


def _call(name: str, *arguments: object) -> Step:
    """A function of libc that answers -1 where it fails, and sets errno."""
    return name, partial(getattr(_LIBC, name), *arguments)
