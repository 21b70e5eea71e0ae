"""A control group for each sandbox: what its processes use together, bounded by the kernel.

Rlimits bound one process, and sampling looks now and then; a control group counts every page (those
of a tmpfs too), every process and the processor's time of the whole sandbox at every moment. It
takes root, or a subtree that was delegated to this user; elsewhere there is none, and `open` says
why.

    fettle-<pid>-<start time>-<pid namespace>/     one a supervisor, given to the uid it becomes
        supervisor/                                itself (version 2 alone)
        <number>/                                  one a sandbox
"""

from __future__ import annotations

import itertools
import os
import time

from sandbox.local.cgroups import delegation, removal
from sandbox.local.cgroups.detection import NoCgroup, Place, look
from sandbox.local.cgroups.sandbox_group import SandboxGroup

__all__ = ["Cgroups", "NoCgroup", "SandboxGroup"]

_CLEAR_SECONDS = 2.0
_GIVEN = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "tasks")


class Cgroups:
    """The groups of one supervisor. `detail` says which limits they hold, for the doctor."""

    def __init__(self, tops: tuple[Place, ...]) -> None:
        self._tops = tops
        self._numbers = itertools.count(1)
        self._leaving: list[Place] = []
        names = [name for top in tops for name in sorted(top.controllers)]
        self.detail = f"{', '.join(names)} of each sandbox, by cgroup v{tops[0].version}"

    @classmethod
    def open(cls, uid: int) -> Cgroups | NoCgroup:
        """Make this process's group and give it to `uid`; clear those of dead supervisors.

        To be called before a supervisor steps down from root.
        """
        places = look()
        if isinstance(places, NoCgroup):
            return places
        try:
            bases = tuple(_base(place) for place in places)
            for base in bases:
                removal.clear(removal.leftovers(base.directory), time.monotonic() + _CLEAR_SECONDS)
            tops = tuple(
                Place(base.directory / removal.name(), base.controllers, base.version)
                for base in bases
            )
        except (OSError, delegation.NotDelegatedError) as error:
            return NoCgroup(str(error))
        try:
            for top in tops:
                _make(top, uid)
        except OSError as error:
            return NoCgroup(f"no control group could be made: {error}")
        return cls(tops)

    def take(self) -> SandboxGroup:
        """A group for a new sandbox, without limits. Raises OSError."""
        self.sweep()
        number = next(self._numbers)
        places = tuple(
            Place(top.directory / str(number), top.controllers, top.version) for top in self._tops
        )
        for place in places:
            place.directory.mkdir()
        return SandboxGroup(places)

    def sweep(self) -> bool:
        """Try again to remove groups that still had a process in them; whether all are gone."""
        self._leaving = [each for each in self._leaving if not removal.removed(each.directory)]
        return not self._leaving

    def close(self) -> None:
        """Remove everything that this user may, killing what is left in a sandbox."""
        sandboxes = [each for top in self._tops for each in top.directory.glob("[0-9]*")]
        removal.clear(sandboxes, time.monotonic() + _CLEAR_SECONDS)
        for top in self._tops:
            removal.removed(top.directory)

    def give_back(self, group: SandboxGroup) -> None:
        """Its sandbox is gone: it is removed, or will be when nothing is left in it."""
        self._leaving += group.discard()


def _base(place: Place) -> Place:
    """The group below which this process makes its own."""
    if not os.access(place.directory, os.W_OK, effective_ids=True):
        raise PermissionError(
            f"only root may make a control group below {place.directory}, or a user to whom it was "
            "delegated"
        )
    if place.version == 1:
        return place
    return Place(
        delegation.divisible(place.directory, place.controllers),
        place.controllers,
        place.version,
    )


def _make(top: Place, uid: int) -> None:
    top.directory.mkdir()
    given = [top.directory]
    if top.version != 1:
        delegation.enable(top.directory, top.controllers)
        own = top.directory / removal.OWN
        own.mkdir()
        (own / "cgroup.procs").write_text(str(os.getpid()))
        given.append(own)
    if os.geteuid() == 0:
        for group in given:
            for each in (group, *(group / file for file in _GIVEN)):
                if each.exists():
                    os.chown(each, uid, -1)
