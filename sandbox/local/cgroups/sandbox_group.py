"""The control group of one sandbox: what its processes use together, bounded by the kernel."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator

from sandbox.local.cgroups import removal
from sandbox.local.cgroups.detection import Place
from sandbox.result import ExitReport

_PERIOD = 100_000  # microseconds, over which a share of processor time is counted
_QUOTA = "cpu.cfs_quota_us"
_UNSWAPPED = "memory.memsw.limit_in_bytes"
_ANSWER_BYTES = 64 * 1024


class SandboxGroup:
    """One sandbox's group. Everything that a member starts later is a member."""

    def __init__(self, places: tuple[Place, ...]) -> None:
        self._places = places

    def member_lists(self) -> list[int]:
        """Descriptors: a process of one thread that writes `0` to each of them is a member. Raises
        OSError.

        The kernel asks who opened one, not who writes. And who puts itself in holds nothing up: to
        put in another, the kernel stops all forks and exits on the machine, for 0.2 ms each time
        (kernel/cgroup/cgroup.c, cgroup_procs_write_start; of version 1's `cgroup.procs`, too).
        """
        opened: list[int] = []
        try:
            for place in self._places:
                file = "tasks" if place.version == 1 else "cgroup.procs"
                opened.append(os.open(f"{place.directory}/{file}", os.O_WRONLY | os.O_CLOEXEC))
        except OSError:
            for member_list in opened:
                os.close(member_list)
            raise
        return opened

    def clock(self) -> int | None:
        """A descriptor of the group's count of processor time (`agent/cpu_time.py`); None where no
        group of it counts that. Raises OSError.
        """
        for place in self._places:
            if place.version == 1 and "cpuacct" not in place.controllers:
                continue
            name = "cpuacct.usage" if place.version == 1 else "cpu.stat"
            with contextlib.suppress(FileNotFoundError):
                return os.open(f"{place.directory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        return None

    def limit(self, memory_bytes: int, processes: int, cpus: float | None) -> None:
        """Bound the whole group: memory with the pages of its tmpfs and without swap, processes and
        threads, processors (a fraction, too; None: all). A later call replaces it. Raises OSError.
        """
        for place in self._places:
            for file, value, needed in settings(place, memory_bytes, processes, cpus):
                path = f"{place.directory}/{file}"
                if file == _QUOTA:
                    _share(path, value)
                elif needed or os.path.exists(path):  # noqa: PTH110
                    _write(path, value)

    def root_out(self) -> None:
        """Kill everyone in it, one by one, and let them have all processors to die on: the first
        process of a sandbox kills the others when it dies itself, and these can keep it from that.
        """
        for place in self._places:
            with contextlib.suppress(OSError):
                for file, value in _processors(place, None):
                    _write(f"{place.directory}/{file}", value)
            removal.kill(place.directory)

    def discard(self) -> list[Place]:
        """Remove it; returns the places that cannot go yet, with a process in them."""
        return [place for place in self._places if not removal.removed(place.directory)]

    def outcome(self) -> ExitReport:
        """What its sandbox has hit."""
        oom_kills = refused = 0
        for place in self._places:
            if "memory" in place.controllers:
                events = "memory.oom_control" if place.version == 1 else "memory.events"
                oom_kills += _count(f"{place.directory}/{events}", "oom_kill")
            if "pids" in place.controllers:
                refused += _count(f"{place.directory}/pids.events", "max")
        return ExitReport(oom_kills=oom_kills, refused_forks=refused)


def settings(
    place: Place, memory_bytes: int, processes: int, cpus: float | None
) -> Iterator[tuple[str, str, bool]]:
    """What is written where, in this order, and whether every kernel has that file."""
    memory = str(memory_bytes)
    if "memory" in place.controllers and place.version == 1:
        # Memory with swap is never to be less than memory: first out of the way, then the same.
        yield _UNSWAPPED, "-1", False
        yield "memory.limit_in_bytes", memory, True
        yield _UNSWAPPED, memory, False
        yield "memory.swappiness", "0", False
    elif "memory" in place.controllers:
        yield "memory.swap.max", "0", False
        yield "memory.max", memory, True
    if "pids" in place.controllers:
        yield "pids.max", str(processes), True
    yield from ((file, value, True) for file, value in _processors(place, cpus))


def _processors(place: Place, cpus: float | None) -> Iterator[tuple[str, str]]:
    """What is written where to share out processor time."""
    quota = None if cpus is None else max(1_000, int(cpus * _PERIOD))
    if "cpu" in place.controllers and place.version == 1:
        yield "cpu.cfs_period_us", str(_PERIOD)
        yield _QUOTA, str(quota or -1)
    elif "cpu" in place.controllers:
        yield "cpu.max", f"{quota or 'max'} {_PERIOD}"


def _share(path: str, quota: str) -> None:
    """Share out processor time by version 1, which takes no more than the group above has. Raises
    OSError.
    """
    try:
        _write(path, quota)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        _write(path, "-1")  # as much as there is above, which is less


def _count(path: str, word: str) -> int:
    """A number out of a file of lines `word number`; 0 where it is missing."""
    try:
        rows = (line.split() for line in _read(path).splitlines())
    except OSError:
        return 0
    return next((int(row[1]) for row in rows if row[0] == word), 0)


# Not by pathlib: that takes 20 us for each of these, and the kernel 3.


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _ANSWER_BYTES).decode()
    finally:
        os.close(fd)


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
