"""Measures what all processes of a run use together. An rlimit counts for one process, so eight
processes could use eight times as much.

Memory is counted in two ways. Resident pages are quick to read, but count a shared page once for
each process. If they exceed the limit, the monitor reads proportional set sizes, for which the
kernel walks over every page. Two kinds of memory are in no process's page table: shared mappings
with pages that another process filled, and sockets with unread data. The monitor knows only their
size; together with the rest it may reach twice the limit. If sandboxes have a control group, all of
this only acts earlier.
"""

# ruff: noqa: PTH112, PTH116, PTH123

from __future__ import annotations

import os
import time

from sandbox.agent.landlock import WRITABLE
from sandbox.agent.processes import (
    PAGE,
    is_relay,
    list_measured_pids,
    list_pids,
    mapped_memory,
    private_memory,
    read_live_stat,
    resident_memory,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TICKS = os.sysconf("SC_CLK_TCK")
INIT = 1
FULL_BLOCKS = 16
"""A file system with fewer free blocks is full, because programs do not write single bytes."""

MIN_WAIT_SECONDS = 0.004
FILL_RATE = 8 << 30
"""Bytes per second that the processors of a machine can fill at most. The next sample is taken
before the remaining memory could be full. (Two cores of a test machine fill 2 to 5 GiB/s.)"""
SOCKET_BYTES = 256 << 10
"""The approximate maximum that a socket holds: net.core.wmem_default, and its overhead."""
SHARED_NAMES = (b"/dev/zero", b"/memfd:", b"/SYSV")
"""The beginnings of the names of shared mappings without a file. No sized tmpfs limits these."""
SHARES_SECONDS = 0.25
"""Processor time for reading proportional sizes in one sample, and as much for mappings. A tree may
have millions of mappings, and no limit is checked while they are counted. The remaining processes
count with their full size."""
MAPS_BYTES = 2 << 20
"""A longer list of one process's mappings is not read to its end."""
EXACT_SHARE = 0.25
SAMPLE_SHARE = 0.05
"""The parts of the time that may go into reading proportional sizes, and into all samples."""
MAX_LOCKS = 4096
"""More file locks end a run; programs have a few. These use 1 MiB, and take some 2 ms to read."""
LOCKS_SYSTEM_SECONDS = 0.02
"""The locks are counted after this much system time: in less, code cannot make too many."""
_TABLE_BYTES = 512 << 10
"""The maximum that is read of the table of locks: the machine's own locks may fill it."""
_TABLE_PART_BYTES = 64 << 10


class CpuTime:
    """The processor time of a run: the highest of several counters, because no counter is complete.

    If a process ignores SIGCHLD, the kernel adds the time of its children to no process (man 2
    wait). Only a control group counts that time; without a group, `add_process` counts the
    samples of the child.
    """

    def __init__(self) -> None:
        self.clock: int | None = None
        """A descriptor of the control group's counter: `cpuacct.usage` of version 1 or `cpu.stat`
        of version 2. None: the sandbox has no group."""
        self._group_seconds_at_start = 0.0
        self._ticks_by_pid: dict[int, int] = {}
        self._sampled_ticks = self._total_ticks = 0

    def start(self) -> None:
        """Do not count the time that the group has used until now."""
        self._group_seconds_at_start = self._read_group_seconds()

    def add_process(self, pid: int, ticks: int) -> None:
        """Count the time of one process; it stays counted after the end of the process. If a count
        goes back, the pid now belongs to another process.
        """
        previous = self._ticks_by_pid.get(pid, 0)
        self._sampled_ticks += ticks - previous if ticks >= previous else ticks
        self._ticks_by_pid[pid] = ticks

    def set_total(self, ticks: int) -> None:
        """Count the time of all existing processes, together with the children that they have
        waited for."""
        self._total_ticks = max(self._total_ticks, ticks)

    @property
    def seconds(self) -> float:
        """The known processor time of the run until now."""
        counted = max(self._total_ticks, self._sampled_ticks) / TICKS
        return max(counted, self._read_group_seconds() - self._group_seconds_at_start)

    def _read_group_seconds(self) -> float:
        """The seconds of the group without this process; 0 without a group."""
        if self.clock is None:
            return 0.0
        text = os.pread(self.clock, 256, 0)
        if text.startswith(b"usage_usec"):
            seconds = int(text.split(None, 2)[1]) / 1e6
        else:
            seconds = int(text) / 1e9
        return seconds - time.process_time()


class ResourceMonitor:
    """Samples a run's processes, and reports the limit that they exceed."""

    def __init__(self) -> None:
        self._library_bytes = private_memory()
        self._own_tmpfs: list[str] | None = None
        self._next_exact_at = self._remaining_bytes = 0.0
        self._limits: Mapping[str, float] = {}
        self.cpu = CpuTime()
        self.has_hit_process_limit = False
        """Whether a sample has counted as many processes and threads as the limit."""
        self.has_full_disk = False
        """Whether the last sample has seen a full file system."""
        self.locks: int | None = None
        """A descriptor of the kernel's table of locks, if the kernel has one (`_count_locks`)."""
        self._system_ticks = self._counted_system_ticks = 0
        self.wait = 0.0
        """How long the next sample can wait, in seconds."""

    def start(self, limits: Mapping[str, float]) -> None:
        """Compare with `limits` from now on."""
        self._limits = limits
        self.cpu.start()

    def sample(self) -> str | None:
        """Measure; returns the limit of the whole tree that is exceeded now: "memory", "cpu" or
        "disk"."""
        started_at = time.monotonic()
        exceeded = self._check_memory(started_at, *self._count_processes())
        if self._has_too_many_locks():
            exceeded = exceeded or "memory"
        if self.cpu.seconds > self._limits["cpu_seconds"]:
            exceeded = exceeded or "cpu"
        if self._count_inodes() > self._limits["inodes"]:
            exceeded = exceeded or "disk"
        cost = time.monotonic() - started_at
        wait = max(MIN_WAIT_SECONDS, self._remaining_bytes / FILL_RATE, cost / SAMPLE_SHARE)
        self.wait = min(wait, self._limits["sample_seconds"])
        return exceeded

    def sample_at_end(self) -> None:
        """Measure once more after the program has ended, before its other processes are killed."""
        self._count_processes()
        self._count_inodes()

    def _count_processes(self) -> tuple[int, int]:
        """Count processor time, processes and threads. Returns the resident bytes (shared pages
        count once for each process) and the mapped bytes.
        """
        pages, ticks, tasks, mapped_bytes, system_ticks = 0, 0, 0, 0, 0
        if os.getpid() == INIT:  # the time of its orphans, and of no other process
            times = os.times()
            ticks = int((times.children_user + times.children_system) * TICKS)
        for listed_pid in list_pids():
            pid, fields = read_live_stat(listed_pid)
            if fields is None or (is_relay(fields) and pid != INIT):
                continue
            # man 5 proc, from field 3: utime, stime, cutime, cstime, num_threads, vsize, rss
            ticks += sum(map(int, fields[13:15] if pid == INIT else fields[11:15]))
            if pid != INIT:
                self.cpu.add_process(listed_pid, int(fields[11]) + int(fields[12]))
                tasks += max(1, int(fields[17]))
                system_ticks += int(fields[12])
                mapped_bytes += int(fields[20])
                pages += int(fields[21])
        self.cpu.set_total(ticks)
        is_at_limit = tasks >= self._limits["processes"]
        self.has_hit_process_limit = self.has_hit_process_limit or is_at_limit
        self._system_ticks = system_ticks
        return pages * PAGE, mapped_bytes

    def _check_memory(self, now: float, resident_bytes: int, mapped_bytes: int) -> str | None:
        limit = self._limits["memory_bytes"]
        own_bytes = max(0, resident_bytes - self._library_bytes)
        self._remaining_bytes = limit - own_bytes
        unmapped_bytes = count_sockets() * SOCKET_BYTES
        is_surely_below = resident_bytes + mapped_bytes + unmapped_bytes <= limit
        if is_surely_below or now < self._next_exact_at:
            return None
        # By processor time: by the clock, a busy machine would postpone the next exact sample.
        started_at = time.thread_time()
        used_bytes = (
            proportional_memory(self._library_bytes) if resident_bytes > limit else own_bytes
        )
        unmapped_bytes += shared_mapping_bytes(list_measured_pids()) if mapped_bytes > limit else 0
        cost = time.thread_time() - started_at
        self._next_exact_at = time.monotonic() + cost / EXACT_SHARE - cost
        self._remaining_bytes = limit - used_bytes
        is_exceeded = used_bytes > limit or used_bytes + unmapped_bytes > 2 * limit
        return "memory" if is_exceeded else None

    def _has_too_many_locks(self) -> bool:
        """Whether the processes hold too many file locks. To make them takes system time."""
        new_seconds = abs(self._system_ticks - self._counted_system_ticks) / TICKS
        if self.locks is None or new_seconds < LOCKS_SYSTEM_SECONDS:
            return False
        self._counted_system_ticks = self._system_ticks
        return _count_locks(self.locks) > MAX_LOCKS

    def _count_inodes(self) -> int:
        """The inodes in use on all of the sandbox's own file systems."""
        if self._own_tmpfs is None:
            self._own_tmpfs = own_file_systems()
        stats = [os.statvfs(path) for path in self._own_tmpfs]
        self.has_full_disk = any(
            stat.f_bavail < FULL_BLOCKS or (stat.f_files and not stat.f_ffree) for stat in stats
        )
        return sum(stat.f_files - stat.f_ffree for stat in stats)


def own_file_systems() -> list[str]:
    """The writable directories that are file systems of the sandbox."""
    root = os.stat("/").st_dev
    return [path for path in WRITABLE if os.path.isdir(path) and os.stat(path).st_dev != root]


def proportional_memory(library_bytes: int) -> int:
    """The bytes of the run's processes; a page that n processes share counts 1/n in each
    (proportional set size).

    The agent is a fork of the same process as the code and has little memory of its own, so its
    size is also each process's share of the preloaded libraries. That share is not counted against
    the code, up to the size of the libraries (`library_bytes`).
    """
    deadline = time.thread_time() + SHARES_SECONDS
    sizes = [
        _proportional_size(pid) if time.thread_time() < deadline else resident_memory(pid)
        for pid in list_measured_pids()
        if pid != INIT
    ]
    libraries = min(library_bytes, len(sizes) * _proportional_size(os.getpid()))
    return max(0, sum(sizes) - libraries)


def shared_mapping_bytes(pids: Iterable[int]) -> int:
    """The total size of the shared mappings without a file; each counts once. A process with too
    many mappings, or with hidden mappings, counts with all that it has mapped.
    """
    sizes: dict[bytes, int] = {}
    deadline = time.thread_time() + SHARES_SECONDS
    for pid in pids:
        text = _read_mappings(pid) if time.thread_time() < deadline else None
        if text is None:
            sizes[b"of %d" % pid] = mapped_memory(pid)
            continue
        if not any(name in text for name in SHARED_NAMES):
            continue
        for line in text.splitlines():  # man 5 proc: address perms offset dev inode pathname
            fields = line.split(None, 5)
            if fields[1][3:] == b"s" and fields[-1].startswith(SHARED_NAMES):
                first, _, last = fields[0].partition(b"-")
                end = int(fields[2], 16) + int(last, 16) - int(first, 16)
                sizes[fields[4]] = max(end, sizes.get(fields[4], 0))
    return sum(sizes.values())


def _read_mappings(pid: int) -> bytes | None:
    """A process's mappings, one on each line; empty if the process has ended. None if they are too
    many or cannot be read: a process may hide its mappings (PR_SET_DUMPABLE).
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            text = file.read(MAPS_BYTES)
    except PermissionError:
        return None
    except OSError:
        return b""
    return text if len(text) < MAPS_BYTES else None


def count_sockets() -> int:
    """How many sockets the sandbox's network namespace has; 0 if the kernel does not report it."""
    try:
        with open("/proc/net/sockstat", "rb") as file:
            return int(file.readline().split()[2])  # sockets: used 3
    except OSError:
        return 0


def _proportional_size(pid: int) -> int:
    """A process's proportional set size in bytes; its resident size if the process hides it."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resident_memory(pid) if pid != os.getpid() else 0


def _count_locks(table: int) -> int:
    """How many file locks the sandbox's processes hold, counted to just beyond `MAX_LOCKS`.

    Each lock uses kernel memory that is charged to no process (CVE-2022-0480), and the kernel does
    not limit their number. The kernel's table shows a sandbox the locks of its own processes only.
    It also shows all locks of open files, which are not counted, because the filter refuses them to
    a sandbox. It hides the locks of a process that has ended while another process keeps its table
    of files; the filter refuses that too (`conditions.py`). The table is masked in a sandbox, so
    `isolation.py` opens it first.
    """
    count = offset = 0
    while count <= MAX_LOCKS and offset < _TABLE_BYTES:
        text = os.pread(table, _TABLE_PART_BYTES, offset)
        if not text:
            break
        count += text.count(b" POSIX ")  # the kernel returns complete lines only
        offset += len(text)
    return count
