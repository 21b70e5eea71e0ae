"""Isolates a sandbox from the inside: its first process applies these steps before any other work.

That process is a fresh copy of the zygote in new namespaces of every kind. In these namespaces it
has all privileges; each namespace is empty or a copy of the base container's. The steps mount the
sandbox's file systems and then give up all privileges: neither this process nor a child of it can
get out afterwards. `policy.isolation` describes the steps; the sandbox has received no data of a
job yet.

The zygote prepares the steps once (one function for each kind of step), so that a sandbox only
calls them. A sandbox shares the zygote's memory pages until it writes to them, even if only to a
reference count, and each first write costs as much as a system call.

Runs inside a sandbox: imports the standard library only.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from functools import partial

from sandbox.agent import landlock, wire
from sandbox.agent.workspace import WorkTrees, copy_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Step = tuple[str, Callable[[], int | None]]
    """The step's name for an error text; and a call that returns -1 and sets errno if it fails, or
    raises OSError.
    """

# linux/mount.h
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_NEWCGROUP = 0x2000000  # linux/sched.h
# linux/prctl.h, linux/capability.h, linux/seccomp.h
_SET_DUMPABLE, _SET_SECCOMP, _BOUNDING_DROP, _NO_NEW_PRIVS, _AMBIENT = 4, 22, 24, 38, 47
_AMBIENT_CLEAR, _CAPABILITY_V3, _FILTER = 4, 0x20080522, 2
# linux/sockios.h, linux/if.h, linux/socket.h
_SET_FLAGS, _UP, _RUNNING, _INET, _DATAGRAM = 0x8914, 0x1, 0x40, 2, 2
_ESCAPES = str.maketrans({char: f"\\{char}" for char in "\\:,"})
_LOOPBACK_UP = struct.pack("16sh14x", b"lo", _UP | _RUNNING)

_LOCKS = b"/proc/locks"
_open_locks = partial(os.open, _LOCKS, os.O_RDONLY | os.O_CLOEXEC)

_LIBC = ctypes.PyDLL(None, use_errno=True)
_socket, _ioctl = _LIBC.socket, _LIBC.ioctl


class _SockFprog(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = (("length", ctypes.c_ushort), ("lines", ctypes.c_char_p))


class Isolation:
    """The isolation steps of every sandbox, from the text of `policy.isolation` and the assembled
    system call filter."""

    def __init__(self, text: str, assembled_filter: bytes) -> None:
        spec: dict[str, list[str]] = {}
        for key, value in wire.parse_lines(text):
            spec.setdefault(key, []).append(value)
        self.fonts = spec["fonts"][0]
        self._trees = spec["trees"][0]
        tmpfs = dict(value.split(" ") for value in spec["tmpfs"])
        self._work_options = tmpfs.pop("/work")
        masks = dict(value.split(" ") for value in spec.get("mask", []))
        self._steps_before_work = (
            *map_user(spec["uid"][0]),
            *leave_control_groups(),
            *set_host_name(spec["hostname"][0]),
            *configure_network(spec.get("sysctl", [])),
            *privatize_directories(spec.get("private", [])),
        )
        self._steps_after_work = (
            *mount_writable_directories(tmpfs),
            *mount_proc(),
            *open_locks(),
            *forbid_namespaces(),
            *mask_proc(masks),
            *set_oom_score(spec["score"][0]),
            *start_session(),
            *drop_capabilities(),
            *hide_memory(),
            *apply_landlock(),
            *apply_filter(assembled_filter),
        )

    def apply(
        self, work_bytes: int, work_inodes: int, trees: WorkTrees | None = None
    ) -> int | None:
        """Take all steps, in the only order that works. Returns a descriptor of the table of locks
        for the resource monitor, if this kernel has one. With `trees`, opens their directories.
        Raises OSError with the name of the step that failed.
        """
        options = f"{self._work_options},size={work_bytes},nr_inodes={work_inodes}"
        work: Iterable[Step] = (_mount("tmpfs", "/work", "tmpfs", _NOSUID | _NODEV, options),)
        if trees is not None:
            work = mount_trees(trees, self._trees, *work)
        lock_table: int | None = None
        for name, take in (*self._steps_before_work, *work, *self._steps_after_work):
            try:
                result = take()
            except OSError as error:
                raise OSError(error.errno, f"{name}: {error.strerror}") from error
            if result == -1:
                number = ctypes.get_errno()
                raise OSError(number, f"{name}: {os.strerror(number)}")
            if take is _open_locks:
                lock_table = result
        return lock_table


def map_user(uid: str) -> Iterator[Step]:
    """The user namespace has one user and one group: the code's, and outside the supervisor's."""
    yield _write("/proc/self/setgroups", "deny")
    yield _write("/proc/self/uid_map", f"{uid} {uid} 1")
    yield _write("/proc/self/gid_map", f"{uid} {uid} 1")


def leave_control_groups() -> Iterator[Step]:
    """Make the current control groups the topmost that this process sees, because the names of the
    groups contain facts about the supervisor.
    """
    yield _call(_LIBC.unshare, _NEWCGROUP)


def set_host_name(name: str) -> Iterator[Step]:
    """Set the host name in the sandbox's uts namespace."""
    yield _call(_LIBC.sethostname, name.encode(), ctypes.c_size_t(len(name)))


def configure_network(sysctls: list[str]) -> Iterator[Step]:
    """Bring loopback up, the only interface of the sandbox's network namespace. The settings
    (`policy.SYSCTLS`) keep the buffers of its sockets small.
    """

    def bring_up() -> int:
        fd = _socket(_INET, _DATAGRAM, 0)  # any socket will do
        result = int(_ioctl(fd, _SET_FLAGS, _LOOPBACK_UP))
        os.close(fd)
        return result

    yield "loopback", bring_up
    for sysctl in sysctls:
        yield _write(*sysctl.split(" ", 1))


def privatize_directories(directories: list[str]) -> Iterator[Step]:
    """Mount over each directory a file system of this sandbox that shows the same files. A process
    that can read a file can lock it, and a lock belongs to the file: so no other sandbox sees it.

    Kernels before 5.11 refuse such a mount, and sandboxes work without it: the doctor reports that
    (`isolation_layers`, layer "locks").
    """
    yield _mount("none", "/", None, _REC | _PRIVATE)
    for directory in directories:
        if os.path.isdir(directory):  # noqa: PTH112
            # A read-only overlay needs two lower directories; `/work` is still empty. It comes
            # first, because statfs reports the first one's file system: for the other directory it
            # would report the size and the free space of the host's disk.
            options = f"lowerdir=/work:{directory.translate(_ESCAPES)}"
            name, mount_overlay = _mount(
                "overlay", directory, "overlay", _RDONLY | _NOSUID | _NODEV, options
            )
            yield name, partial(_ignore_result, mount_overlay)


def mount_trees(trees: WorkTrees, directory: str, tmpfs: Step) -> Iterator[Step]:
    """Mount a `/work` that shows the trees and takes changes into a tmpfs: an overlay, or a copy if
    `trees.is_copy`. Each mount here covers the mount before. `directory` has the trees of all
    sandboxes; the sandbox's own `/run` covers it later.
    """
    lower = f"userxattr,lowerdir={':'.join(f'{directory}/{name}' for name in trees.names)}"
    flags = _NOSUID | _NODEV

    def open_original() -> None:
        trees.original = os.open("/work", os.O_RDONLY | os.O_CLOEXEC)

    def open_upper() -> None:
        # Kernels before 6.6 have no extended attributes on a tmpfs. There, an overlay fails when a
        # directory is made in the place of a removed one, so this step fails first.
        os.setxattr("/work", "user.overlay", b"")
        for name in ("upper", "work"):
            os.mkdir(f"/work/{name}", 0o755)  # noqa: PTH102
        trees.upper = os.open("/work/upper", os.O_RDONLY | os.O_CLOEXEC)

    # A read-only overlay needs two lower directories; `/work` is still empty.
    yield _mount("overlay", "/work", "overlay", _RDONLY | flags, f"{lower}:/work")
    yield "open trees", open_original
    yield tmpfs
    if trees.is_copy:
        yield "copy trees", partial(copy_trees, trees, "/work")
        return
    yield "extended attributes of tmpfs", open_upper
    upper = "upperdir=/work/upper,workdir=/work/work"
    yield _mount("overlay", "/work", "overlay", flags, f"{lower},{upper}")


def mount_writable_directories(tmpfs: dict[str, str]) -> Iterator[Step]:
    """Mount the writable directories, each a tmpfs of a fixed size; and terminals that no other
    sandbox sees.
    """
    for directory, options in tmpfs.items():
        yield _mount("tmpfs", directory, "tmpfs", _NOSUID | _NODEV, options)
    terminals = "newinstance,ptmxmode=0666,mode=620"
    yield _mount("devpts", "/dev/pts", "devpts", _NOSUID | _NOEXEC, terminals)


def mount_proc() -> Iterator[Step]:
    """Mount a `/proc` that shows the sandbox's own processes."""
    yield _mount("proc", "/proc", "proc", _NOSUID | _NODEV | _NOEXEC)


def open_locks() -> Iterator[Step]:
    """Open the table of locks, before `mask_proc` covers it."""
    if os.path.exists(_LOCKS):  # noqa: PTH110
        yield "open the locks", _open_locks


def mask_proc(masks: dict[str, str]) -> Iterator[Step]:
    """Cover the files of `/proc` that show facts about the machine. After this step no process
    writes to them."""
    for path, cover in masks.items():
        yield _mount(cover, path, None, _BIND)
    yield _call(_LIBC.chdir, b"/work")


def forbid_namespaces() -> Iterator[Step]:
    """Allow no user namespace below the sandbox's own: many attacks on the kernel begin with a user
    namespace. The filter refuses the calls; this is the kernel's own limit, which only a privileged
    user could raise.
    """
    yield _write("/proc/sys/user/max_user_namespaces", "0")


def set_oom_score(score: str) -> Iterator[Step]:
    """If the machine runs out of memory, the kernel kills a sandbox before other processes."""
    yield _write("/proc/self/oom_score_adj", score)


def start_session() -> Iterator[Step]:
    """Share no terminal and no process group with a process outside. Restore the default for
    SIGCHLD, because the agent needs the exit status of its children; the zygote ignores it.
    """
    yield "setsid", os.setsid
    yield _call(_LIBC.signal, int(signal.SIGCHLD), None)


def drop_capabilities() -> Iterator[Step]:
    """Give up every capability in every set. no_new_privs keeps the code from gaining a capability
    by running a program."""
    for number in range(_last_capability() + 1):
        yield f"capability {number}", partial(_LIBC.prctl, _BOUNDING_DROP, number, 0, 0, 0)
    yield _call(_LIBC.prctl, _AMBIENT, _AMBIENT_CLEAR, 0, 0, 0)
    empty_sets = ctypes.create_string_buffer(24)  # struct __user_cap_data_struct[2]
    yield _call(_LIBC.capset, struct.pack("=Ii", _CAPABILITY_V3, 0), empty_sets)
    yield _call(_LIBC.prctl, _NO_NEW_PRIVS, 1, 0, 0, 0)


def hide_memory() -> Iterator[Step]:
    """Make this process not dumpable: the code has the same uid, but cannot trace the process or
    open its files in `/proc`."""
    yield _call(_LIBC.prctl, _SET_DUMPABLE, 0, 0, 0, 0)


def apply_landlock() -> Iterator[Step]:
    """Apply Landlock, if the kernel has it: the same limits to writing once more, and no mounts."""
    yield "landlock", landlock.Rules().restrict


def apply_filter(assembled: bytes) -> Iterator[Step]:
    """Apply the system call filter to this process and to all processes that it starts."""
    program = _SockFprog(len(assembled) // 8, assembled)  # of struct sock_filter
    yield _call(_LIBC.prctl, _SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read())


def _mount(source: str, target: str, kind: str | None, flags: int, options: str = "") -> Step:
    arguments = (
        source.encode(),
        target.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options.encode() or None,
    )
    return f"mount {kind or 'bind'} {target}", partial(_LIBC.mount, *arguments)


def _ignore_result(call: Callable[[], int | None]) -> None:
    call()


def _write(path: str, text: str) -> Step:
    def write() -> None:
        fd = os.open(encoded_path, os.O_WRONLY)
        os.write(fd, data)
        os.close(fd)

    encoded_path, data = path.encode(), text.encode()
    return f"write {path}", write


def _call(function: Callable[..., int], *arguments: object) -> Step:
    """Call a function of libc that returns -1 and sets errno if it fails."""
    return function.__name__, partial(function, *arguments)
