"""The sandbox policy: what code may see, write, reach and use. Read this file in a security review.

It is data, and pure functions that derive limits. `docker/profile.py` states the same policy in the
terms of a container engine.

- Programs: its interpreter, and the programs of `programs.py` as far as the machine has them.
- Visible: `/usr` and its interpreter (read-only), `/proc` with its own processes and the files of
  `VISIBLE_PROC`, a minimal `/dev`, and the small `/etc` below. It sees no `/home`, `/var` or
  `/sys`, and no other file of the host.
- Visible in `/work`: the directory trees that its command names. They are shared and read-only; the
  kernel shows changes over them.
- Writable: `/work`, `/tmp`, `/run` and `/dev/shm`. Each is a tmpfs of a fixed size, which ends with
  the sandbox.
- Network: its own loopback; its network namespace has no other interface. If the command has a
  proxy, the caller answers at one port of that loopback.
- Identity: a user without capabilities, who cannot gain any, in its own namespaces (user, pid,
  network, ipc, uts, mount, cgroup), restricted by Landlock and by the system call filter of
  `seccomp/`. The filter names each value that fcntl, prctl, ioctl and setsockopt may take
  (`allowed_arguments.py`).
- Limits: the rlimits below for each process, and totals for all processes together. The agent
  samples the totals; a control group enforces them if the machine allows one.

A sandbox is built in two steps. bubblewrap builds a *base container* once for many sandboxes
(`local/base_container.py`). It holds the *zygote* (`zygote/server.py`), a process with loaded
libraries that never receives a byte of a job. Each sandbox is a fresh copy of the zygote in new
namespaces of every kind. The copy isolates itself (`agent/isolation.py`) as `isolation` describes,
before it receives data of a job.

bubblewrap itself must be started with an empty environment: `--clearenv` leaves the parent's
readable in `/proc/1/environ`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sandbox.protocol import MIB, Limits

# --- Identity -------------------------------------------------------------------------------------

UID = 1000
"""The uid and gid of the code, inside. Outside they are the supervisor's."""
HOST_UID = 61_100
"""The uid of a supervisor that was started as root. Distributions and systemd do not allocate 60578
to 61183 (systemd.io/UIDS-GIDS), and a container's 16-bit uid map has them."""
HOSTNAME = "sandbox"

# --- Visible, read-only ---------------------------------------------------------------------------

SYSTEM_DIRECTORIES = ("/usr",)
SYSTEM_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into `/usr`, or directories on older systems."""
SYSTEM_FILES = ("/etc/ld.so.cache",)
SYSTEM_LINK_DIRECTORIES = ("/etc/alternatives",)
"""Files, and directories of symbolic links, that are copied into the base container's `/etc`. They
are not mounted, because the kernel mounts no overlay over a directory that contains mounts."""

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
"""The directories of programs of a machine, or of an image."""
VENV = "/opt/venv"
"""A virtual environment is visible here, so that tracebacks are the same on any host."""
SCRIPTS = "/opt/scripts"
"""`local`: the programs of that environment, such as `pytest` (`programs.environment_scripts`)."""

TREES = "/run/trees"
"""The base container has the directory trees of commands here. Each sandbox covers the directory
with its own `/run`, after it has mounted its own trees on `/work`."""

AGENT_ROOT = "/agent"
AGENT_CONTEXT = "/agent/context"
"""The agent's context: interpreter, path of the code, environment (`agent/serve.py`)."""
AGENT_ISOLATION = "/agent/isolation"
"""The text of `isolation`, for the zygote."""
AGENT_FILTER = "/agent/filter"
"""The assembled system call filter."""
AGENT_EMPTY_FILE = "/agent/empty-file"
AGENT_EMPTY_DIRECTORY = "/agent/empty-directory"
"""An empty file and an empty directory that no user may open. They cover the paths of `MASKED`."""
AGENT_STAT = "/agent/stat"
"""The text of `proc_stat`; it covers `/proc/stat`."""

PRIVATE_DIRECTORIES = ("/etc", "/agent", "/opt/scripts")
"""Directories of the base container that each sandbox mounts for itself, so that locks and watches
on their files belong to one sandbox. Inside and outside, the code's user owns the files."""

COVERED_DIRECTORIES = (
    *("/work", "/tmp", "/run", "/dev", "/proc"),  # noqa: S108
    *("/etc", "/agent"),
)
"""A sandbox has its own directories at these paths, so the host's interpreter cannot be in one."""

ETC: Mapping[str, str] = MappingProxyType(
    {
        "/etc/passwd": f"user:x:{UID}:{UID}::/tmp:/bin/sh\n",
        "/etc/group": f"user:x:{UID}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
        # matplotlib asks fontconfig for fonts, which prints a warning without a configuration.
        "/etc/fonts/fonts.conf": "<fontconfig><dir>/usr/share/fonts</dir>"
        "<cachedir>/tmp/.cache/fontconfig</cachedir></fontconfig>\n",
    }
)

VISIBLE_PROC: Mapping[str, str] = MappingProxyType(
    {
        "cpuinfo": "libraries choose their code by it",
        "filesystems": "names that any kernel has",
        "loadavg": "os.getloadavg; sysinfo, which is no file, shows the same",
        "meminfo": "programs size their buffers by it; sysinfo shows the same",
        "mounts": "the reading process's own",
        "net": "of the sandbox's own network namespace",
        "self": "the reading process's own",
        "stat": "replaced by `proc_stat`: ps needs the time when the machine was started",
        "thread-self": "the reading thread's own",
        "uptime": "ps needs it; sysinfo and clocks show the same",
        "version": "uname shows the same",
    }
)
"""The files of `/proc` that code sees besides processes, with the reason. All other files show the
full machine, or act on it: their counters would reveal the activity of other sandboxes."""

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
"""All other names that Linux 6.18 may have in `/proc`. The attack `hostdata/proc_files` looks for
further ones. `kmsg` is not masked: only root may open it, but any user may open the file with which
an engine would mask it."""

# --- Writable -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tmpfs:
    """A writable directory of the sandbox: a tmpfs of a fixed size."""

    path: str
    mode: str
    """The mode in octal digits."""
    size_bytes: int
    inodes: int
    """The number of files that the kernel allows in it."""


INODES = 65_536
"""The files of a run on all tmpfs together; more end the run. They use kernel memory, which the
size of a tmpfs does not count."""
INODES_PER_FILE = 2
"""The files of a run for each file that its workspace may have, if that allows more: directories,
and temporary files."""
TMPFS_INODES = INODES + INODES // 4
"""The kernel's limit for one tmpfs. It limits the files made between two samples of the total."""
SMALL_TMPFS_INODES = 4_096
"""The kernel's limit for `/run` and for `/dev/shm`, in which programs need few files."""
TMP_BYTES = 64 * MIB
SHM_BYTES = 64 * MIB
RUN_BYTES = 32 * MIB
PAGE_BYTES = 4096

FIXED_TMPFS = (
    Tmpfs("/tmp", "1777", TMP_BYTES, TMPFS_INODES),  # noqa: S108
    Tmpfs("/dev/shm", "1777", SHM_BYTES, SMALL_TMPFS_INODES),  # noqa: S108
    Tmpfs("/run", "0755", RUN_BYTES, SMALL_TMPFS_INODES),
)
"""The writable directories except `/work`: its size depends on the limits (`work_tmpfs`)."""
WORK_MODE = "0755"

MAIN = "/run/main.py"
"""The file of `Command.python`'s code: tracebacks show its lines, and it is not in the caller's
`/work`."""
RUN_VENV = "/run/venv"
"""The virtual environment of a run with `Command.site`, which the agent makes."""
RUN_PYTHON = f"{RUN_VENV}/bin/python"

# --- Network --------------------------------------------------------------------------------------

SYSCTLS: Mapping[str, str] = MappingProxyType(
    {
        "net.ipv4.tcp_wmem": "4096 16384 65536",
        "net.ipv4.tcp_rmem": "4096 65536 131072",
    }
)
"""Settings of the sandbox's network namespace: minimum, initial and maximum bytes of a TCP socket's
buffers, also for IPv6. The maximum is at most the size that the resource monitor assumes for a
socket. A host's own maximum is some MiB of kernel memory, which is charged to no process.
"""

# --- Environment of the code ----------------------------------------------------------------------

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
        # Many runs share this machine; and each thread counts as a process.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMEXPR_NUM_THREADS": "1",
        # Each arena reserves 64 MiB of address space, which RLIMIT_AS counts if it is set.
        "MALLOC_ARENA_MAX": "2",
        # For pyarrow, which pandas imports if it is installed. Forks of the zygote would not have
        # its allocator's thread, so the zygote refuses to load such a library (`preload.load`).
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
)

# --- Limits ---------------------------------------------------------------------------------------

FLOOD_BYTES = 64 * MIB
"""More output than this (both streams together) ends a run, to save the work of reading it."""
PENDING_SIGNALS = 1_024
SAMPLE_SECONDS = 0.05
"""The longest time between two samples of the totals."""
AGENT_BYTES = 32 * MIB
AGENT_PROCESSES = 4
"""The memory and processes of the agent, in a sandbox's control group."""
OOM_SCORE = 1000
"""oom_score_adj: if the machine runs out of memory, the kernel kills a process of a sandbox before
any other process. It chooses the largest one, which is the code: it has its own pages and all of
its agent's. If the kernel kills the agent, the control group still shows the reason.
"""
ROTATION_SANDBOXES = 1_000
"""The number of sandboxes after which a zygote is replaced. They share its hash seed and the layout
of its address space, which should both change from time to time."""

# --- Timeouts -------------------------------------------------------------------------------------

GRACE_SECONDS = 10.0
"""After the wall time of a run: the supervisor then destroys a sandbox that has not answered."""
READY_SECONDS = 20.0
"""The time limit for a new sandbox to be ready; it takes about 0.01 s on an idle machine."""
COPY_SECONDS = 120.0
"""The time limit for a new sandbox that first copies trees: half a GiB takes some 3 s."""
WARM_SECONDS = 120.0
"""The time limit for a zygote to load its libraries; it takes about 2 s."""


@dataclass(frozen=True, slots=True)
class HostMount:
    """A directory of the host that sandboxes see read-only."""

    source: str
    """Its path on the host."""
    target: str
    """Its path in the sandbox."""


@dataclass(frozen=True, slots=True)
class HostEnvironment:
    """The parts of this machine that its sandboxes use."""

    bwrap: str
    python: str
    """The interpreter's path in the sandbox."""
    mounts: tuple[HostMount, ...]
    links: tuple[tuple[str, str], ...] = ()
    """Symbolic links of the sandbox: (target, path)."""
    masked: tuple[tuple[str, bool], ...] = ()
    """The paths of `MASKED` that this kernel has, and whether each is a directory."""
    path: tuple[str, ...] = SYSTEM_PATH
    """Directories in which code finds programs, after its interpreter's directory."""
    scripts: Mapping[str, bytes] = field(default_factory=dict)
    """The programs of the interpreter's environment, by name; code finds them first."""
    configuration: Mapping[str, bytes] = field(default_factory=dict)
    """Files below `/etc` that programs need to start, by path (`host.configuration`)."""
    trees: HostMount | None = None
    """The directory of trees; None if the backend has none. Code sees only the trees of its own
    command."""


def work_bytes(limits: Limits) -> int:
    """The size of `/work`: the workspace, and one page for the end of each file."""
    return limits.workspace_bytes + limits.workspace_files * PAGE_BYTES


def max_inodes(limits: Limits) -> int:
    """The files that a run may have, of every kind and in all directories."""
    return max(INODES, INODES_PER_FILE * limits.workspace_files)


def work_inodes(limits: Limits) -> int:
    """The kernel's limit for `/work`. It limits the files made between two samples of the total."""
    return max_inodes(limits) + max_inodes(limits) // 4


def work_tmpfs(size_bytes: int, inodes: int) -> Tmpfs:
    """The tmpfs of `/work`."""
    return Tmpfs("/work", WORK_MODE, size_bytes, inodes)


def rlimits(limits: Limits) -> dict[str, tuple[int, int]]:
    """Limits of each process, as (soft, hard), by their names in Python's `resource`. If a control
    group limits a resource, the backend omits its rlimit (`omitted_rlimits` of `encode_order`).

    RLIMIT_AS takes the place of a control group's memory limit: it bounds a burst of allocations
    between two samples of the total (`agent/resource_monitor.py`). It counts address space, used or
    not. Four times the memory limit and a GiB is enough for numpy, matplotlib and 64 threads. It is
    too little for WebAssembly (and so for `fetch` of Node) and for Java.
    """
    address_space = 4 * limits.memory_bytes + 1024 * MIB
    agent_processes = 1  # the agent counts as a process of the same user
    processes = limits.processes + agent_processes
    return {
        "RLIMIT_AS": (address_space, address_space),
        # Not 0: on a host that pipes core dumps into a program, only 1 means none (fs/coredump.c).
        "RLIMIT_CORE": (1, 1),
        "RLIMIT_CPU": (limits.cpu_seconds, limits.cpu_seconds + 1),
        "RLIMIT_FSIZE": (limits.file_bytes, limits.file_bytes),
        "RLIMIT_MEMLOCK": (0, 0),
        "RLIMIT_MSGQUEUE": (0, 0),
        # A machine may let its users take a higher priority: here, one above the agent's.
        "RLIMIT_NICE": (0, 0),
        "RLIMIT_NOFILE": (limits.open_files, limits.open_files),
        "RLIMIT_NPROC": (processes, processes),
        "RLIMIT_RTPRIO": (0, 0),
        # Each timer takes one, too, and some kernel memory.
        "RLIMIT_SIGPENDING": (PENDING_SIGNALS, PENDING_SIGNALS),
    }


def cgroup_bytes(limits: Limits) -> int:
    """The memory limit of a sandbox's control group: the code's memory, and the memory of the
    agent while it transfers a full workspace.
    """
    return limits.memory_bytes + 2 * limits.workspace_bytes + AGENT_BYTES


def cgroup_processes(limits: Limits) -> int:
    """The limit of a sandbox's control group for processes and threads. The code meets its rlimit
    first, which fails in the code itself; this limit applies if the rlimit does not.
    """
    return limits.processes + AGENT_PROCESSES


def environment(host_env: HostEnvironment) -> dict[str, str]:
    """The full environment of the code."""
    directory = host_env.python.rpartition("/")[0]
    path = () if directory in SYSTEM_PATH else (directory,)
    path = (SCRIPTS, *path) if host_env.scripts else path
    return {"PATH": ":".join((*path, *host_env.path)), **ENVIRONMENT}


def isolation(host_env: HostEnvironment) -> str:
    """The isolation steps for `agent/isolation.py`, one `key value` on each line. The size of
    `/work` is added for each sandbox.
    """
    private = (*(mount.target for mount in host_env.mounts), *PRIVATE_DIRECTORIES)
    return "\n".join(
        (
            f"uid {UID}",
            f"hostname {HOSTNAME}",
            f"score {OOM_SCORE}",
            *(f"private {path}" for path in private),
            *(f"sysctl /proc/sys/{name.replace('.', '/')} {to}" for name, to in SYSCTLS.items()),
            *(
                f"tmpfs {tmpfs.path} "
                f"mode={tmpfs.mode},nr_inodes={tmpfs.inodes},size={tmpfs.size_bytes}"
                for tmpfs in FIXED_TMPFS
            ),
            f"tmpfs /work mode={WORK_MODE}",
            *(
                f"mask {path} {AGENT_EMPTY_DIRECTORY if is_directory else AGENT_EMPTY_FILE}"
                for path, is_directory in host_env.masked
            ),
            f"mask /proc/stat {AGENT_STAT}",
            f"fonts {FONT_CACHE}",
            f"trees {TREES}",
        )
    )


def proc_stat(processors: int, boot_time: int) -> str:
    """The content of `/proc/stat` in a sandbox: the number of processors, and the time when the
    machine was started (in seconds since 1970); all counters are 0.
    """
    names = ("cpu", *(f"cpu{number}" for number in range(processors)))
    return "".join(f"{name} 0 0 0 0 0 0 0 0 0 0\n" for name in names) + f"btime {boot_time}\n"
