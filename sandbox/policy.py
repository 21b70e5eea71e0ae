"""What a room may see, hold and do: the one file to read in a security review. Pure.

- It sees: `/usr` (read-only), its interpreter (read-only), a `/proc` (its own processes, some
  files masked), a minimal `/dev`, the few lines of `/etc` below. No `/home`, `/var`, `/sys`, and
  no other file of the host.
- It writes: `/work`, `/tmp`, `/run`, `/dev/shm`, each a tmpfs of a fixed size that dies with it.
- It reaches: its own loopback. Its network namespace has no other interface.
- It is: a user without capabilities, who cannot gain any, in namespaces of his own (user, pid,
  network, ipc, uts, mount, cgroup), behind the system call filter of `seccomp.py`.
- It holds: the rlimits below per process, and the sampled totals of the whole tree.

`arguments` turns this into bubblewrap's command line. bubblewrap itself must be started with an
empty environment: `--clearenv` leaves the parent's readable in `/proc/1/environ`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sandbox.protocol import MIB, Limits

UID = 1000
"""The code's uid and gid as it sees them. On the host it is the supervisor's."""

HOST_UID = 61_100
"""What a supervisor that was started as root becomes. 60578 to 61183 is unused by distributions'
and systemd's allocations (systemd.io/UIDS-GIDS), and fits a 16-bit map of a container."""

SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_TREES = ("/usr", "/etc/ld.so.cache", "/etc/alternatives")
COVERED = ("/work", "/tmp", "/run", "/dev", "/proc", "/etc", "/room")  # noqa: S108
"""What a room has of its own: an interpreter of the host cannot lie below one of these."""

MASKED = (
    *("/proc/cmdline", "/proc/interrupts", "/proc/kallsyms", "/proc/kcore", "/proc/keys"),
    *("/proc/latency_stats", "/proc/sched_debug", "/proc/sysrq-trigger", "/proc/timer_list"),
)
"""Files of `/proc` that tell of the machine, or act on it, and of nothing in the room."""

VENV = "/opt/venv"
"""Where a virtual environment lies in the room, so that tracebacks read the same on any host."""

MAIN = "/run/main.py"
"""Where `Command.python`'s code lies: tracebacks show its lines, and `/work` stays the caller's."""

ROOM_SOURCE = "/room"
ROOM_GIVEN = "/room/given"
"""What the agent is told when its room is made: interpreter, environment, where the code lies."""

TMP_BYTES = 64 * MIB
SHM_BYTES = 64 * MIB
RUN_BYTES = 8 * MIB
PAGE_BYTES = 4096

FLOOD_BYTES = 64 * MIB
"""Output beyond this, both streams together, ends a run: it is reading and counting for nothing."""
INODES = 65_536
"""Files, all tmpfs together. Their names live in kernel memory, which no size limit counts."""
SAMPLE_SECONDS = 0.05
GRACE_SECONDS = 10.0
"""How long after its wall time a room may take to answer before the supervisor destroys it."""
READY_SECONDS = 20.0
"""How long a room may take to stand ready; it takes about 0.05 s on an idle machine."""

ETC: Mapping[str, str] = MappingProxyType(
    {
        "/etc/passwd": f"user:x:{UID}:{UID}::/tmp:/bin/sh\n",
        "/etc/group": f"user:x:{UID}:\n",
        "/etc/hosts": "127.0.0.1 localhost room\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }
)

FONT_CACHE = "/tmp/.config/matplotlib"  # noqa: S108  (the room's own)

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": FONT_CACHE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        # The caller's modules: the code itself lies outside of /work.
        "PYTHONPATH": "/work",
        "PYTHONUNBUFFERED": "1",
        # One run is one of many on this machine; and a pool of threads counts as processes.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        # Each arena reserves 64 MiB of address space, which RLIMIT_AS counts.
        "MALLOC_ARENA_MAX": "2",
    }
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A part of the host that a room sees read-only: where it lies, and where it shows."""

    source: str
    at: str


@dataclass(frozen=True, slots=True)
class Ground:
    """What this machine gives to its rooms. `python` is the interpreter's path in the room."""

    bwrap: str
    python: str
    trees: tuple[Tree, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Symbolic links of the room: (target, path)."""
    masked: tuple[str, ...] = ()
    """Those of `MASKED` that this kernel has."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open file descriptors that bubblewrap inherits, by what they are for."""

    control: int
    info: int
    seccomp: int
    texts: Mapping[str, int]
    """Files of the room, by path, each to be read from its descriptor."""


def work_bytes(limits: Limits) -> int:
    """The size of `/work`: the workspace, and a page for the end of each file."""
    return limits.workspace_bytes + limits.workspace_files * PAGE_BYTES


def rlimits(limits: Limits) -> dict[str, tuple[int, int]]:
    """Limits of each process, as (soft, hard), by their names in Python's `resource`.

    RLIMIT_AS is no memory limit: it counts what is only mapped (a thread's stack, an arena, a
    library), and it does not add up over processes. Four times the limit and a GiB lets numpy,
    matplotlib and 64 threads live, and still turns one absurd allocation into a MemoryError with a
    traceback. The limit proper is the sampled total of the tree (`room/watch.py`).
    """
    address_space = 4 * limits.memory_bytes + 1024 * MIB
    own = 2  # bubblewrap's init and the agent live under the same count
    return {
        "RLIMIT_AS": (address_space, address_space),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 1),
        "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
        "RLIMIT_MSGQUEUE": (0, 0),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_NPROC": (limits.processes + own, limits.processes + own),
        "RLIMIT_RTPRIO": (0, 0),
    }


def environment(ground: Ground) -> dict[str, str]:
    """The whole environment of the code."""
    own = ground.python.rpartition("/")[0]
    places = dict.fromkeys((own, "/usr/local/bin", "/usr/bin", "/bin"))
    return {"PATH": ":".join(places), **ENVIRONMENT}


def arguments(ground: Ground, size: int, given: Descriptors) -> list[str]:
    """bubblewrap's command line for one room whose `/work` holds `size` bytes."""
    return [
        ground.bwrap,
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--disable-userns"),
        *("--uid", str(UID), "--gid", str(UID), "--hostname", "room", "--cap-drop", "ALL"),
        *("--new-session", "--die-with-parent"),
        *("--seccomp", str(given.seccomp), "--info-fd", str(given.info)),
        *(word for tree in ground.trees for word in ("--ro-bind", tree.source, tree.at)),
        *(word for target, at in ground.links for word in ("--symlink", target, at)),
        *("--proc", "/proc", "--dev", "/dev"),
        *(word for at in ground.masked for word in ("--ro-bind", "/dev/null", at)),
        *_tmpfs("/dev/shm", SHM_BYTES, "1777"),  # noqa: S108
        *_tmpfs("/tmp", TMP_BYTES, "1777"),  # noqa: S108
        *_tmpfs("/run", RUN_BYTES, "0755"),
        *_tmpfs("/work", size, "0755"),
        *(word for at, fd in given.texts.items() for word in _text(at, fd)),
        *("--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/work"),
        *agent(ground, given.control),
    ]


def agent(ground: Ground, control: int) -> list[str]:
    """The command line of the room's agent, which talks over the socket `control`."""
    start = (
        f"import sys; sys.path.insert(0, {ROOM_SOURCE!r}); "
        f"from sandbox.room.agent import main; main({control}, {ROOM_GIVEN!r})"
    )
    return [ground.python, "-I", "-S", "-B", "-c", start]


def _tmpfs(at: str, size: int, mode: str) -> tuple[str, ...]:
    return ("--perms", mode, "--size", str(size), "--tmpfs", at)


def _text(at: str, fd: int) -> tuple[str, ...]:
    return ("--perms", "0644", "--file", str(fd), at)
