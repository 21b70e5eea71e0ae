"""The control group of one sandbox: its limits, its counters, and its removal."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from sandbox.local.cgroups.detection import GroupDirectory
from sandbox.result import ExitReport

SUPERVISOR_GROUP = "supervisor"
"""The group of a supervisor's own processes (version 2), which are never killed."""
_PERIOD = 100_000  # microseconds, over which a share of processor time is counted
_QUOTA = "cpu.cfs_quota_us"
_MEMORY_AND_SWAP = "memory.memsw.limit_in_bytes"
_MAX_FILE_BYTES = 64 * 1024


class SandboxGroup:
    """One sandbox's group. Each process that a member starts is also a member."""

    def __init__(self, directories: tuple[GroupDirectory, ...]) -> None:
        self._directories = directories

    def open_member_lists(self) -> list[int]:
        """Open the group's member lists. A process with one thread joins the group by writing `0`
        to each descriptor. Raises OSError.

        The kernel checks the rights of the process that opened a list, not of the one that writes.
        A process that adds itself delays no other process. To add another process, the kernel stops
        all forks and exits on the machine for 0.2 ms (kernel/cgroup/cgroup.c,
        cgroup_procs_write_start; also for version 1's `cgroup.procs`).
        """
        member_lists: list[int] = []
        try:
            for group in self._directories:
                file = "tasks" if group.version == 1 else "cgroup.procs"
                path = f"{group.directory}/{file}"
                member_lists.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError:
            for fd in member_lists:
                os.close(fd)
            raise
        return member_lists

    def open_clock(self) -> int | None:
        """Open the group's counter of processor time (`agent/resource_monitor.py`); None if the
        group does not count it. Raises OSError.
        """
        for group in self._directories:
            if group.version == 1 and "cpuacct" not in group.controllers:
                continue
            name = "cpuacct.usage" if group.version == 1 else "cpu.stat"
            with contextlib.suppress(FileNotFoundError):
                return os.open(f"{group.directory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        return None

    def set_limits(self, memory_bytes: int, processes: int, cpus: float | None) -> None:
        """Limit the complete group: memory (with the pages of its tmpfs, without swap), processes
        and threads, and processors (also a fraction; None: all). A later call replaces the limits.
        Raises OSError.
        """
        for group in self._directories:
            for file, value, is_required in limit_files(group, memory_bytes, processes, cpus):
                path = f"{group.directory}/{file}"
                if file == _QUOTA:
                    _write_quota(path, value)
                elif is_required or os.path.exists(path):  # noqa: PTH110
                    _write(path, value)

    def kill_members(self) -> None:
        """Kill all processes of the group one by one, without a limit of processors. When a
        sandbox's first process dies, it kills the others; but they can delay its death.
        """
        for group in self._directories:
            with contextlib.suppress(OSError):
                for file, value in _processor_files(group, None):
                    _write(f"{group.directory}/{file}", value)
            kill_group(group.directory)

    def remove(self) -> list[GroupDirectory]:
        """Remove the group; returns the directories that still have a process."""
        return [group for group in self._directories if not remove_group(group.directory)]

    def read_report(self) -> ExitReport:
        """The limits that the sandbox has hit."""
        oom_kills = refused_forks = 0
        for group in self._directories:
            if "memory" in group.controllers:
                events = "memory.oom_control" if group.version == 1 else "memory.events"
                oom_kills += _read_counter(f"{group.directory}/{events}", "oom_kill")
            if "pids" in group.controllers:
                refused_forks += _read_counter(f"{group.directory}/pids.events", "max")
        return ExitReport(oom_kills=oom_kills, refused_forks=refused_forks)


def limit_files(
    group: GroupDirectory, memory_bytes: int, processes: int, cpus: float | None
) -> Iterator[tuple[str, str, bool]]:
    """The files to write in this order: name, value, and whether every kernel has the file."""
    memory = str(memory_bytes)
    if "memory" in group.controllers and group.version == 1:
        # The limit of memory with swap must never be below the limit of memory.
        yield _MEMORY_AND_SWAP, "-1", False
        yield "memory.limit_in_bytes", memory, True
        yield _MEMORY_AND_SWAP, memory, False
        yield "memory.swappiness", "0", False
    elif "memory" in group.controllers:
        yield "memory.swap.max", "0", False
        yield "memory.max", memory, True
    if "pids" in group.controllers:
        yield "pids.max", str(processes), True
    yield from ((file, value, True) for file, value in _processor_files(group, cpus))


def remove_groups(groups: Iterable[Path], deadline: float) -> bool:
    """Kill the processes of these groups and of the groups below, and remove the groups. Repeats
    until `deadline` (monotonic clock); returns whether all are removed.
    """
    remaining = list(groups)
    while remaining := [group for group in remaining if not _remove_with_children(group)]:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.01)
    return True


def _remove_with_children(group: Path) -> bool:
    """One attempt; whether the group is removed."""
    try:
        children = [path for path in group.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return True
    removed = [_remove_with_children(child) for child in children]
    if group.name != SUPERVISOR_GROUP:
        kill_group(group)
    return all(removed) and remove_group(group)


def kill_group(group: Path) -> None:
    """Kill the processes of one group."""
    with contextlib.suppress(OSError):
        pids = (group / "cgroup.procs").read_text().split()
        for pid in map(int, pids):
            if pid > 1:  # 0 is a process that this pid namespace does not show
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def remove_group(group: Path) -> bool:
    """Remove a group without processes; whether the group is removed."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _processor_files(group: GroupDirectory, cpus: float | None) -> Iterator[tuple[str, str]]:
    """The files that limit processor time: name, value."""
    quota = None if cpus is None else max(1_000, int(cpus * _PERIOD))
    if "cpu" in group.controllers and group.version == 1:
        yield "cpu.cfs_period_us", str(_PERIOD)
        yield _QUOTA, str(quota or -1)
    elif "cpu" in group.controllers:
        yield "cpu.max", f"{quota or 'max'} {_PERIOD}"


def _write_quota(path: str, quota: str) -> None:
    """Limit processor time in version 1, which refuses more than the parent group has; then there
    is no own limit. Raises OSError.
    """
    try:
        _write(path, quota)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        _write(path, "-1")  # as much as the parent group has, which is less


def _read_counter(path: str, name: str) -> int:
    """The number of a line `name number` of a file; 0 if the file or the line is missing."""
    try:
        rows = (line.split() for line in _read(path).splitlines())
    except OSError:
        return 0
    return next((int(row[1]) for row in rows if row[0] == name), 0)


# These do not use pathlib, which takes 20 us for each call; the kernel takes 3.


def _read(path: str) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _MAX_FILE_BYTES).decode()
    finally:
        os.close(fd)


def _write(path: str, value: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode())
    finally:
        os.close(fd)
