"""Counting what the whole tree of a run's processes uses: rlimits count for one process each, and
eight processes hold eight times as much.

Memory is counted in two ways. Resident pages are cheap to ask for and count what is shared once a
process; where they pass the limit, the shares are asked for, which takes the kernel a walk over
every page. What no process has in its tables, shared mappings whose pages others filled and sockets
with what waits in them, is only known by its size: it may come to twice the limit, with the rest.
Where sandboxes have a cgroup all of this only comes before it.
"""

# ruff: noqa: PTH112, PTH116, PTH123

from __future__ import annotations

import os
import time

from sandbox.agent.cpu_time import TICKS, CpuTime
from sandbox.agent.landlock import WRITABLE
from sandbox.agent.processes import (
    PAGE,
    is_relay,
    mapped,
    numbers,
    own_memory,
    processes,
    resident,
    seen,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

INIT = 1
FULL_BLOCKS = 16
"""A file system with less free than this is full: nobody writes a byte at a time."""

SOONEST_SECONDS = 0.004
FILL_RATE = 8 << 30
"""Bytes that a machine's processors fill in a second, at most; the next look is no later than
the memory that is left could be filled. (Two cores here fill 2 to 5 GiB/s.)"""
SOCKET_BYTES = 256 << 10
"""What a socket holds at most, more or less: net.core.wmem_default, and what goes with it."""
SHARED = (b"/dev/zero", b"/memfd:", b"/SYSV")
"""How the names of shared mappings begin that belong to no file, and so to no sized tmpfs."""
CAREFUL_SECONDS = 0.25
"""Processor time for asking after shares, and as much for mappings, in one look: a tree may have
millions of them, and while they are counted nobody watches. The rest is taken at its full size."""
MAPS_BYTES = 2 << 20
"""Of one process's list of mappings: longer ones are not read to their end."""
EXACT_SHARE = 0.25
LOOK_SHARE = 0.05
"""The parts of the time that may go into shares, and into looking at all."""
MOST_LOCKS = 4096
"""More end a run: programs have a handful. They take a MiB, and reading of them some 2 ms."""
LOCKS_WORTH_SECONDS = 0.02
"""Of system time: in less, nobody makes so many that it would be worth a look."""
_TABLE_BYTES = 512 << 10
"""Of the table: a machine's own locks may fill it."""
_TABLE_PART_BYTES = 64 << 10


class ResourceMonitor:
    """Looks at a run's processes; keeps the totals, and the limit that was passed."""

    def __init__(self) -> None:
        self._loaded = own_memory()
        self._places: list[str] | None = None
        self._exact_at = self._left = 0.0
        self._limits: Mapping[str, float] = {}
        self.cpu = CpuTime()
        self.crowded = self.full = False
        """Whether the processes were as many, or a file system as full, as may be."""
        self.locks: int | None = None
        """A descriptor of the kernel's table of locks, where there is one (`_held_locks`)."""
        self._system_ticks = self._asked_ticks = 0
        self.wait = 0.0
        """How long the next look can wait, in seconds."""

    def begin(self, limits: Mapping[str, float]) -> None:
        """Count against `limits` from here on."""
        self._limits = limits
        self.cpu.begin()

    def look(self) -> str | None:
        """Count; returns the limit of the whole tree that is passed at this moment, if one is."""
        started = time.monotonic()
        over = self._memory_passed(started, *self._count())
        if self._locks_passed():
            over = over or "memory"
        if self.cpu.seconds > self._limits["cpu_seconds"]:
            over = over or "cpu"
        if self._disk() > self._limits["inodes"]:
            over = over or "disk"
        cost = time.monotonic() - started
        soon = max(SOONEST_SECONDS, self._left / FILL_RATE, cost / LOOK_SHARE)
        self.wait = min(soon, self._limits["sample_seconds"])
        return over

    def last(self) -> None:
        """Look once more, when the program has ended and nothing is killed yet."""
        self._count()
        self._disk()

    def _count(self) -> tuple[int, int]:
        """Processor time, processes and threads; returns resident bytes, shared ones for each
        process, and mapped ones.
        """
        pages, ticks, tasks, sizes, system = 0, 0, 0, 0, 0
        if os.getpid() == INIT:  # what its orphans used, and they alone
            times = os.times()
            ticks = int((times.children_user + times.children_system) * TICKS)
        for each in numbers():
            pid, fields = seen(each)
            if fields is None or (is_relay(fields) and pid != INIT):
                continue
            # man 5 proc, from field 3: utime, stime, cutime, cstime, num_threads, vsize, rss
            ticks += sum(map(int, fields[13:15] if pid == INIT else fields[11:15]))
            if pid != INIT:
                self.cpu.see(each, int(fields[11]) + int(fields[12]))
                tasks += max(1, int(fields[17]))
                system += int(fields[12])
                sizes += int(fields[20])
                pages += int(fields[21])
        self.cpu.wait(ticks)
        self.crowded = self.crowded or tasks >= self._limits["processes"]
        self._system_ticks = system
        return pages * PAGE, sizes

    def _memory_passed(self, now: float, most: int, mapped: int) -> str | None:
        limit = self._limits["memory_bytes"]
        self._left = limit - max(0, most - self._loaded)
        unseen = sockets() * SOCKET_BYTES
        if most + mapped + unseen <= limit or now < self._exact_at:
            return None
        began = time.thread_time()  # by the clock, a busy machine would put off the next look
        used = shared_out(self._loaded) if most > limit else max(0, most - self._loaded)
        unseen += shared_sizes(processes()) if mapped > limit else 0
        cost = time.thread_time() - began
        self._exact_at = time.monotonic() + cost / EXACT_SHARE - cost
        self._left = limit - used
        return "memory" if used > limit or used + unseen > 2 * limit else None

    def _locks_passed(self) -> bool:
        """Whether there are too many locks. They take system time to be made."""
        used = abs(self._system_ticks - self._asked_ticks) / TICKS
        if self.locks is None or used < LOCKS_WORTH_SECONDS:
            return False
        self._asked_ticks = self._system_ticks
        return _held_locks(self.locks) > MOST_LOCKS

    def _disk(self) -> int:
        """Inodes in use, all of the sandbox's own file systems together."""
        if self._places is None:
            self._places = own_places()
        stats = [os.statvfs(place) for place in self._places]
        self.full = any(
            each.f_bavail < FULL_BLOCKS or (each.f_files and not each.f_ffree) for each in stats
        )
        return sum(each.f_files - each.f_ffree for each in stats)


def own_places() -> list[str]:
    """Those of the writable places that are file systems of their own."""
    root = os.stat("/").st_dev
    return [place for place in WRITABLE if os.path.isdir(place) and os.stat(place).st_dev != root]


def shared_out(loaded: int) -> int:
    """The bytes that the run's processes hold, shared pages by share (proportional set sizes).

    The agent is a fork of the same loaded process as the code, and holds little else: its share is
    each process's share of the libraries that were loaded for all. That is not counted against
    the code; nor is more than the size of those libraries, `loaded` bytes.
    """
    until = time.thread_time() + CAREFUL_SECONDS
    sizes = [
        _share(pid) if time.thread_time() < until else resident(pid)
        for pid in processes()
        if pid != INIT
    ]
    libraries = min(loaded, len(sizes) * _share(os.getpid()))
    return max(0, sum(sizes) - libraries)


def shared_sizes(pids: Iterable[int]) -> int:
    """The sizes of the shared mappings without a file, each counted once. Whoever
    has too many mappings to be asked, or hides them, is counted with all that he has mapped.
    """
    sizes: dict[bytes, int] = {}
    until = time.thread_time() + CAREFUL_SECONDS
    for pid in pids:
        text = _mappings(pid) if time.thread_time() < until else None
        if text is None:
            sizes[b"of %d" % pid] = mapped(pid)
            continue
        if not any(name in text for name in SHARED):
            continue
        for line in text.splitlines():  # man 5 proc: address perms offset dev inode pathname
            fields = line.split(None, 5)
            if fields[1][3:] == b"s" and fields[-1].startswith(SHARED):
                first, _, last = fields[0].partition(b"-")
                end = int(fields[2], 16) + int(last, 16) - int(first, 16)
                sizes[fields[4]] = max(end, sizes.get(fields[4], 0))
    return sum(sizes.values())


def _mappings(pid: int) -> bytes | None:
    """A process's mappings, a line each; empty where it is gone, None where they are too many or
    not to be read: a process may hide what is its own (PR_SET_DUMPABLE).
    """
    try:
        with open(f"/proc/{pid}/maps", "rb") as file:
            text = file.read(MAPS_BYTES)
    except PermissionError:
        return None
    except OSError:
        return b""
    return text if len(text) < MAPS_BYTES else None


def sockets() -> int:
    """How many sockets there are in the sandbox's network namespace; 0 where nobody says."""
    try:
        with open("/proc/net/sockstat", "rb") as file:
            return int(file.readline().split()[2])  # sockets: used 3
    except OSError:
        return 0


def _share(pid: int) -> int:
    """A process's proportional set size in bytes; its resident size where it hides that."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return resident(pid) if pid != os.getpid() else 0


def _held_locks(table: int) -> int:
    """How many file locks the sandbox's processes hold, counted to just beyond `MOST_LOCKS`.

    Each takes memory of the kernel's that nobody is charged for (CVE-2022-0480), and there is no
    bound to their number. The kernel's table names whose they are, and shows a sandbox none of
    others but those of open files, which are not counted: a sandbox can have none. It does not show
    those of a process that is gone where another one keeps them: nor can a sandbox have such
    (`conditions.py`). It is masked, and was opened before that (`isolation.py`).
    """
    count = place = 0
    while count <= MOST_LOCKS and place < _TABLE_BYTES:
        text = os.pread(table, _TABLE_PART_BYTES, place)
        if not text:
            break
        count += text.count(b" POSIX ")  # whole lines: the kernel breaks none
        place += len(text)
    return count
