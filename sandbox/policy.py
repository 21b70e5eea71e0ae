"""What a sandbox may see, hold and do: the one file to read in a security review. Pure.

- It finds: its interpreter, and the programs of `programs.py`, whatever else the machine has.
- It sees: `/usr` (read-only), its interpreter (read-only), a `/proc` (its own processes, and the
  few files of `PROC_SHOWN`), a minimal `/dev`, an `/etc` of its own with the few lines below. No
  `/home`, `/var`, `/sys`, and no other file of the host.
- It sees, in `/work`: the layers that its command names, shared and read-only below what it writes.
- It writes: `/work`, `/tmp`, `/run`, `/dev/shm`, each a tmpfs of a fixed size that dies with it.
- It reaches: its own loopback. Its network namespace has no other interface. Where its command has
  a proxy, the caller answers at one port of that loopback.
- It is: a user without capabilities, who cannot gain any, in namespaces of his own (user, pid,
  network, ipc, uts, mount, cgroup), under Landlock and the system call filter of `seccomp/`,
  which names each value that fcntl, prctl, ioctl and setsockopt take (`allowed_arguments.py`).
- It holds: the rlimits below per process, and the totals of the whole tree (sampled, and by a
  control group where there is one).

It is built in two steps. bubblewrap builds a *base container* once for many sandboxes:
`local/base_container.py` has its command line. In it waits the *zygote* (`agent/zygote.py`), which
has libraries loaded and never sees a byte of a job. Each sandbox is a fresh copy of the zygote in
new namespaces of every kind, and isolates itself (`agent/isolation.py`) as `isolation` says, before
anything of a job reaches it.

bubblewrap itself must be started with an empty environment: `--clearenv` leaves the parent's
readable in `/proc/1/environ`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sandbox.protocol import MIB, Limits

UID = 1000
"""The code's uid and gid as it sees them. On the host it is the supervisor's."""

HOSTNAME = "sandbox"

HOST_UID = 61_100
"""What a supervisor that was started as root becomes. 60578 to 61183 is unused by distributions'
and systemd's allocations (systemd.io/UIDS-GIDS), and fits a 16-bit map of a container."""

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""Where a machine, or an image, has its programs."""
SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SYSTEM_TREES = ("/usr",)
SYSTEM_FILES = ("/etc/ld.so.cache",)
SYSTEM_NAMES = ("/etc/alternatives",)
"""Files, and directories of symbolic links, that are copied into the base container's `/etc`. None
is mounted there: over a tree with mounts in it the kernel mounts no other."""
OWN_TREES = ("/etc", "/agent", "/opt/scripts")
"""Trees of the base container that each sandbox has as its own: locks and watches there are
of one sandbox. The code's user owns the files in them, outside as well."""
COVERED = ("/work", "/tmp", "/run", "/dev", "/proc", "/etc", "/agent")  # noqa: S108
"""What a sandbox has of its own: an interpreter of the host cannot lie below one of these."""

PROC_SHOWN: Mapping[str, str] = MappingProxyType(
    {
        "cpuinfo": "libraries choose their code by it",
        "filesystems": "names that any kernel has",
        "loadavg": "os.getloadavg; sysinfo, which is no file, shows the same",
        "meminfo": "programs size their buffers by it; sysinfo shows the same",
        "mounts": "a process's own",
        "net": "of the sandbox's own network namespace",
        "self": "a process's own",
        "stat": "as it was at the start: ps needs when the machine was started (`proc_stat`)",
        "thread-self": "a thread's own",
        "uptime": "ps needs it; sysinfo and clocks show the same",
        "version": "uname shows the same",
    }
)
"""What code sees of `/proc` beside processes. All else shows the whole machine, or acts on it:
counters there move with what neighbours do."""

MASKED = tuple(
    f"/proc/{name}"
    for name in (
        *("acpi", "allocinfo", "asound", "bootconfig", "buddyinfo", "bus", "cgroups", "cmdline"),
        *("config.gz", "consoles", "cpu", "crypto", "devices", "diskstats", "dma", "driver"),
        *("dynamic_debug", "execdomains", "fb", "fs", "interrupts", "iomem", "ioports", "irq"),
        *("kallsyms", "kcore", "key-users", "keys", "kpagecgroup", "kpagecount"),
        *("kpageflags", "latency_stats", "locks", "mdstat", "misc", "modules", "mpt", "mtrr"),
        *("pagetypeinfo", "partitions", "pressure", "sched_debug", "schedstat", "scsi"),
        *("slabinfo", "softirqs", "swaps", "sys", "sysrq-trigger", "sysvipc", "timer_list"),
        *("timer_stats", "tty", "vmallocinfo", "vmstat", "zoneinfo"),
    )
)
"""Every other name that Linux 6.18 may have there. `hostdata/proc_files` looks for further ones.
Not `kmsg`: root alone may open it, but anybody what an engine mounts over it."""

VENV = "/opt/venv"
"""Where a virtual environment lies in the sandbox, so that tracebacks read the same on any host."""
SCRIPTS = "/opt/scripts"
"""Where `local` sandboxes have the environment's programs (`scripts.py`)."""

MAIN = "/run/main.py"
"""Where `Command.python`'s code lies: tracebacks show its lines, and `/work` stays the caller's."""

RUN_VENV = "/run/venv"
"""The virtual environment of a run with `Command.site`, which the agent makes."""
RUN_PYTHON = f"{RUN_VENV}/bin/python"

LAYERS = "/run/layers"
"""Where the base container has the layers that commands may name. Each sandbox covers it with its
own `/run`, once its `/work` is made of those that are its own."""

AGENT_ROOT = "/agent"
AGENT_GIVEN = "/agent/given"
"""What the agent gets when its sandbox is made: interpreter, environment, where the code
lies.
"""
AGENT_ISOLATION = "/agent/isolation"
"""What `isolation` says, for the zygote to read."""
AGENT_FILTER = "/agent/filter"
"""The system call filter, assembled."""
AGENT_NOTHING = "/agent/nothing"
AGENT_NOWHERE = "/agent/nowhere"
"""An empty file and an empty directory that nobody may open. They lie over each of `MASKED`."""
AGENT_STAT = "/agent/stat"
"""What lies over `/proc/stat`."""

ROTATION_SANDBOXES = 1_000
"""After so many sandboxes a zygote is replaced. They share its hash seed and the layout of its
address space, and neither is to live for ever."""

TMP_BYTES = 64 * MIB
SHM_BYTES = 64 * MIB
RUN_BYTES = 32 * MIB
PAGE_BYTES = 4096
AGENT_BYTES = 32 * MIB
AGENT_PROCESSES = 4
"""What the agent itself may take of a sandbox's control group."""

SYSCTLS: Mapping[str, str] = MappingProxyType(
    {
        "net.ipv4.tcp_wmem": "4096 16384 65536",
        "net.ipv4.tcp_rmem": "4096 65536 131072",
    }
)
"""Of the sandbox's network namespace: least, first and greatest bytes of a TCP socket's buffers,
also those of IPv6; at most what the tally takes a socket for. A host's own greatest are some MiB,
of kernel memory that no process has.
"""

FLOOD_BYTES = 64 * MIB
"""Output beyond this, both streams together, ends a run: it is reading and counting for nothing."""
INODES = 65_536
"""Files, all tmpfs together: more end a run. They live in kernel memory, which no size counts."""
INODES_A_FILE = 2
"""For each file that a workspace may have, where that comes to more: directories, and files for a
while."""
TMPFS_INODES = INODES + INODES // 4
"""Files in one tmpfs, held by the kernel itself: what can be made between two looks at the sum."""
OWN_INODES = 4_096
"""The same for `/run` and `/dev/shm`, where nobody needs many."""
PENDING_SIGNALS = 1_024
SAMPLE_SECONDS = 0.05
GRACE_SECONDS = 10.0
"""How long after its wall time a sandbox may take to answer before the supervisor destroys it."""
READY_SECONDS = 20.0
"""How long a sandbox may take to stand ready; it takes about 0.01 s on an idle machine."""
COPIED_SECONDS = 120.0
"""The same for one that copies layers first: half a GiB takes some 3 s."""
WARM_SECONDS = 120.0
"""How long a zygote may take to load its libraries; it takes about 2 s."""

OOM_SCORE = 1000
"""oom_score_adj: where memory ends, the kernel picks a sandbox before anything else of the machine.
Of a sandbox it takes what is largest: the code, which holds all of its agent's pages and its own.
Should it take the agent, the control group still shows what happened.
"""

ETC: Mapping[str, str] = MappingProxyType(
    {
        "/etc/passwd": f"user:x:{UID}:{UID}::/tmp:/bin/sh\n",
        "/etc/group": f"user:x:{UID}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        # matplotlib asks fontconfig for fonts, which complains where nobody has configured it.
        "/etc/fonts/fonts.conf": "<fontconfig><dir>/usr/share/fonts</dir>"
        "<cachedir>/tmp/.cache/fontconfig</cachedir></fontconfig>\n",
    }
)

FONT_CACHE = "/tmp/.config/matplotlib"  # noqa: S108  (the sandbox's own)

ENVIRONMENT: Mapping[str, str] = MappingProxyType(
    {
        "HOME": "/tmp",  # noqa: S108
        "LANG": "C.UTF-8",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": FONT_CACHE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUNBUFFERED": "1",
        # One run is one of many on this machine; and a pool of threads counts as processes.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        # Each arena reserves 64 MiB of address space, which RLIMIT_AS counts if it is set.
        "MALLOC_ARENA_MAX": "2",
        # pyarrow, which pandas imports where it is installed: its allocator's thread would be
        # missing in every fork of the zygote, which therefore refuses to load it (`preload.load`).
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
)


@dataclass(frozen=True, slots=True)
class Tree:
    """A part of the host that a sandbox sees read-only: where it lies, and where it shows."""

    source: str
    at: str


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """What this machine gives to its sandboxes. `python` is the interpreter's path in the
    sandbox.
    """

    bwrap: str
    python: str
    trees: tuple[Tree, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Symbolic links of the sandbox: (target, path)."""
    masked: tuple[tuple[str, bool], ...] = ()
    """Those of `MASKED` that this kernel has, and whether each is a directory."""
    path: tuple[str, ...] = SYSTEM_PATH
    """Where code finds programs, after its interpreter's directory."""
    scripts: Mapping[str, bytes] = field(default_factory=dict)
    """Those of the interpreter's environment, by name; code finds them first."""
    configuration: Mapping[str, bytes] = field(default_factory=dict)
    """Files below `/etc` that programs need to start, by path (`configuration.py`)."""
    layers: Tree | None = None
    """The directory of layers, where there is one; code sees none of it but its own layers."""


def work_bytes(limits: Limits) -> int:
    """The size of `/work`: the workspace, and a page for the end of each file."""
    return limits.workspace_bytes + limits.workspace_files * PAGE_BYTES


def inodes(limits: Limits) -> int:
    """The files that a run may have, of every kind and in all places."""
    return max(INODES, INODES_A_FILE * limits.workspace_files)


def work_inodes(limits: Limits) -> int:
    """The same for `/work`, held by the kernel: what can be made between two looks at the sum."""
    return inodes(limits) + inodes(limits) // 4


def rlimits(limits: Limits) -> dict[str, tuple[int, int]]:
    """Limits of each process, as (soft, hard), by their names in Python's `resource`. If a control
    group limits a resource, the backend leaves out its rlimit (`grouped` of `order.order`).

    RLIMIT_AS takes the place of a control group's memory limit: it bounds a burst of allocations
    between two samples of the whole tree (`agent/resource_monitor.py`). It counts address space,
    used or not. Four times the memory limit and a GiB is enough for numpy, matplotlib and 64
    threads. It is too little for WebAssembly (and so for `fetch` of Node) and for Java.
    """
    address_space = 4 * limits.memory_bytes + 1024 * MIB
    own = 1  # the agent lives under the same count
    return {
        "RLIMIT_AS": (address_space, address_space),
        # Not 0: to a host that pipes core dumps into a program, only 1 means none (fs/coredump.c).
        "RLIMIT_CORE": (1, 1),
        "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 1),
        "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
        "RLIMIT_MEMLOCK": (0, 0),
        "RLIMIT_MSGQUEUE": (0, 0),
        # A machine may let its users take a higher priority: than the agent's, here.
        "RLIMIT_NICE": (0, 0),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_NPROC": (limits.processes + own, limits.processes + own),
        "RLIMIT_RTPRIO": (0, 0),
        # Each timer holds one, too, and some of the kernel's memory.
        "RLIMIT_SIGPENDING": (PENDING_SIGNALS, PENDING_SIGNALS),
    }


def environment(host_env: HostEnvironment) -> dict[str, str]:
    """The whole environment of the code."""
    own = host_env.python.rpartition("/")[0]
    first = () if own in SYSTEM_PATH else (own,)
    first = (SCRIPTS, *first) if host_env.scripts else first
    return {"PATH": ":".join((*first, *host_env.path)), **ENVIRONMENT}


def group_bytes(limits: Limits) -> int:
    """The memory that a sandbox's control group may hold: the code's, and what the agent needs to
    carry a full workspace in and out.
    """
    return limits.memory_bytes + 2 * limits.workspace_bytes + AGENT_BYTES


def group_processes(limits: Limits) -> int:
    """The processes and threads of a sandbox's control group. The rlimit is met first, and fails in
    the code's own hands; this holds where the rlimit does not.
    """
    return limits.processes + AGENT_PROCESSES


def isolation(host_env: HostEnvironment) -> str:
    """What `agent/isolation.py` is to apply, one `key value` a line; `/work` is sized later."""
    user = (f"uid {UID}", f"hostname {HOSTNAME}", f"score {OOM_SCORE}")
    places = (
        _place("/tmp", "1777", TMPFS_INODES, TMP_BYTES),  # noqa: S108
        _place("/dev/shm", "1777", OWN_INODES, SHM_BYTES),  # noqa: S108
        _place("/run", "0755", OWN_INODES, RUN_BYTES),
        "tmpfs /work mode=0755",
    )
    over = (*host_env.masked, ("/proc/stat", False))
    lies = {"/proc/stat": AGENT_STAT}
    masks = (
        f"mask {path} {lies.get(path, AGENT_NOWHERE if is_directory else AGENT_NOTHING)}"
        for path, is_directory in over
    )
    trees = (f"tree {at}" for at in (*(tree.at for tree in host_env.trees), *OWN_TREES))
    output = (f"sysctl /proc/sys/{name.replace('.', '/')} {to}" for name, to in SYSCTLS.items())
    own = (f"fonts {FONT_CACHE}", f"layers {LAYERS}")
    return "\n".join((*user, *trees, *output, *places, *masks, *own))


def proc_stat(processors: int, booted: int) -> str:
    """What `/proc/stat` says in a sandbox: how many processors there are, and when the machine was
    started, in seconds; no counter of it.
    """
    names = ("cpu", *(f"cpu{number}" for number in range(processors)))
    return "".join(f"{name} 0 0 0 0 0 0 0 0 0 0\n" for name in names) + f"btime {booted}\n"


def _place(at: str, mode: str, inodes: int, size: int) -> str:
    """A tmpfs of the sandbox."""
    return f"tmpfs {at} mode={mode},nr_inodes={inodes},size={size}"
