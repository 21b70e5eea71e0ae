"""A control group for each room: what its processes use together, bounded by the kernel.

Rlimits bound one process, and sampling looks now and then; a control group counts every page (those
of a tmpfs too), every process and the processor's time of the whole room at every moment. It takes
root, or a subtree that was delegated to this user; elsewhere there is none, and `open` says why.

    fettle-<pid>-<start time>-<pid namespace>/     one a supervisor, given to the uid it becomes
        supervisor/                                itself (version 2 alone)
        <number>/                                  one a room
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.local import delegation, keeper
from sandbox.local.hierarchy import NoCgroup, Place, look

__all__ = ["Cgroups", "Hits", "NoCgroup", "RoomGroup", "host_pid", "settings"]

_PERIOD = 100_000  # microseconds, over which a share of processor time is counted
_CLEAR_SECONDS = 2.0
_GIVEN = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "tasks")
_UNSWAPPED = "memory.memsw.limit_in_bytes"


@dataclass(frozen=True, slots=True)
class Hits:
    """How often a room's group has hit its limits."""

    oom_kills: int = 0
    refused_forks: int = 0


class Cgroups:
    """The groups of one supervisor. `detail` tells the doctor what bounds what."""

    def __init__(self, tops: tuple[Place, ...], kept: keeper.Keeper) -> None:
        self._tops, self._keeper = tops, kept
        self._numbers = itertools.count(1)
        self._leaving: list[Path] = []
        names = [name for top in tops for name in sorted(top.controllers)]
        self.detail = f"{', '.join(names)} of each room, by cgroup v{tops[0].version}"

    @classmethod
    def open(cls, uid: int) -> Cgroups | NoCgroup:
        """Make this process's group and give it to `uid`; clear those of dead supervisors.

        To be called before a supervisor steps down from root, by a process of one thread: it
        forks a `keeper.Keeper`.
        """
        places = look()
        if isinstance(places, NoCgroup):
            return places
        try:
            bases = tuple(_base(place) for place in places)
            for base in bases:
                keeper.clear(keeper.leftovers(base.directory), time.monotonic() + _CLEAR_SECONDS)
            tops = tuple(
                Place(base.directory / keeper.name(), base.controllers, base.version)
                for base in bases
            )
            kept = keeper.Keeper(top.directory for top in tops)
        except (OSError, delegation.NotDelegatedError) as error:
            return NoCgroup(str(error))
        try:
            for top in tops:
                _make(top, uid)
        except OSError as error:
            kept.release(wait=True)
            return NoCgroup(f"no control group could be made: {error}")
        return cls(tops, kept)

    def room(self) -> RoomGroup:
        """A new group, without limits. Raises OSError."""
        self.sweep()
        number = next(self._numbers)
        places = tuple(
            Place(top.directory / str(number), top.controllers, top.version) for top in self._tops
        )
        for place in places:
            place.directory.mkdir()
        return RoomGroup(places, self._leaving)

    def sweep(self) -> bool:
        """Try again to remove groups that still had a process in them; whether all are gone."""
        self._leaving[:] = [each for each in self._leaving if not keeper.removed(each)]
        return not self._leaving

    def close(self) -> None:
        """Remove everything, killing what is left in a room."""
        # In version 2 this process is in the group itself: the keeper goes on when it has ended.
        self._keeper.release(wait=self._tops[0].version == 1)


class RoomGroup:
    """One room's group. Everything that a member starts later is a member."""

    def __init__(self, places: tuple[Place, ...], leaving: list[Path]) -> None:
        self._places, self._leaving = places, leaving

    def add(self, pid: int) -> None:
        """Put a process in, by its pid as this process sees it. Takes 0.3 ms, at times 25. Raises
        OSError.
        """
        for place in self._places:
            (place.directory / "cgroup.procs").write_text(str(pid))

    def limit(self, memory_bytes: int, processes: int, cpus: float | None) -> None:
        """Bound the whole group: memory with the pages of its tmpfs and without swap, processes and
        threads, processors (a fraction, too; None: all). A later call replaces it. Raises OSError.
        """
        for place in self._places:
            for file, value, needed in settings(place, memory_bytes, processes, cpus):
                path = place.directory / file
                if needed or path.exists():
                    path.write_text(value)

    def outcome(self) -> Hits:
        """What was hit until now."""
        oom_kills = refused = 0
        for place in self._places:
            events = "memory.oom_control" if place.version == 1 else "memory.events"
            if "memory" in place.controllers:
                oom_kills += _count(place.directory / events, "oom_kill")
            if "pids" in place.controllers:
                refused += _count(place.directory / "pids.events", "max")
        return Hits(oom_kills, refused)

    def remove(self) -> None:
        """Remove the group, or have it removed as soon as its last process has ended."""
        for place in self._places:
            if not keeper.removed(place.directory):
                self._leaving.append(place.directory)


def settings(
    place: Place, memory_bytes: int, processes: int, cpus: float | None
) -> Iterator[tuple[str, str, bool]]:
    """What is written where, in this order, and whether every kernel has that file."""
    memory, quota = str(memory_bytes), None if cpus is None else max(1_000, int(cpus * _PERIOD))
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
    if "cpu" in place.controllers and place.version == 1:
        yield "cpu.cfs_period_us", str(_PERIOD), True
        yield "cpu.cfs_quota_us", str(quota or -1), True
    elif "cpu" in place.controllers:
        yield "cpu.max", f"{quota or 'max'} {_PERIOD}", True


def host_pid(pidfd: int) -> int | None:
    """The pid, as this process sees it, behind a pidfd; None where it has ended or is hidden."""
    told = Path("/proc/self/fdinfo", str(pidfd)).read_text()
    pid = next(int(line.split()[1]) for line in told.splitlines() if line.startswith("Pid:"))
    return pid if pid > 0 else None


def _base(place: Place) -> Place:
    """The group below which ours is made."""
    if not os.access(place.directory, os.W_OK, effective_ids=True):
        raise PermissionError(
            f"only root may make a control group below {place.directory}, or a user to whom it was "
            "delegated"
        )
    if place.version == 1:
        return place
    return Place(
        delegation.divisible(place.directory, place.controllers), place.controllers, place.version
    )


def _make(top: Place, uid: int) -> None:
    top.directory.mkdir()
    given = [top.directory]
    if top.version != 1:
        delegation.enable(top.directory, top.controllers)
        own = top.directory / keeper.OWN
        own.mkdir()
        (own / "cgroup.procs").write_text(str(os.getpid()))
        given.append(own)
    if os.geteuid() == 0:
        for group in given:
            for each in (group, *(group / file for file in _GIVEN)):
                if each.exists():
                    os.chown(each, uid, -1)


def _count(file: Path, word: str) -> int:
    """A number out of a file of lines `word number`; 0 where it is not told."""
    try:
        rows = (line.split() for line in file.read_text().splitlines())
    except OSError:
        return 0
    return next((int(row[1]) for row in rows if row[0] == word), 0)
