"""The control groups of a supervisor: one group for each sandbox, limited by the kernel.

An rlimit limits one process, and sampling measures only now and then. A control group always counts
every page (including pages of a tmpfs), every process and the processor time of the complete
sandbox. Control groups need root, or a subtree that was delegated to this user; otherwise
`Cgroups.open` returns the reason.

    fettle-<pid>-<start time>-<pid namespace>/     of one supervisor, owned by the uid it becomes
        supervisor/                                the supervisor's processes (version 2 only)
        <number>/                                  of one sandbox

Version 2 lets a group limit its children only while the group itself has no processes. systemd
gives a service a subtree with `Delegate=yes`, and a container may have one as its root. Processes
in the top group of such a subtree move into a leaf group once. In a group that was not delegated,
no process is moved. Source: systemd.io/CGROUP_DELEGATION; Linux,
Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import errno
import itertools
import os
import time
from pathlib import Path

from sandbox.local.cgroups.detection import GroupDirectory, NoCgroup, find_groups
from sandbox.local.cgroups.sandbox_group import (
    SUPERVISOR_GROUP,
    SandboxGroup,
    remove_group,
    remove_groups,
)

__all__ = ["Cgroups", "NoCgroup", "SandboxGroup"]

LEAF = "fettle-processes"
"""The group for processes (such as the worker) that were in the delegated group itself."""
_MOVE_ATTEMPTS = 20
_CLEAR_SECONDS = 2.0
_OWNED_FILES = ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads", "tasks")
_PREFIX = "fettle-"


class NotDelegatedError(Exception):
    """This process may not divide the group; the text names a remedy."""


class Cgroups:
    """The groups of one supervisor."""

    def __init__(self, tops: tuple[GroupDirectory, ...]) -> None:
        self._tops = tops
        self._numbers = itertools.count(1)
        self._unremoved: list[GroupDirectory] = []
        names = [name for top in tops for name in sorted(top.controllers)]
        self.detail = f"{', '.join(names)} of each sandbox, by cgroup v{tops[0].version}"
        """The resources that the groups limit, for the doctor."""

    @classmethod
    def open(cls, uid: int) -> Cgroups | NoCgroup:
        """Make the group of this supervisor and give it to `uid`; remove the groups of dead
        supervisors. Call it before the supervisor steps down from root.
        """
        groups = find_groups()
        if isinstance(groups, NoCgroup):
            return groups
        try:
            bases = tuple(_divisible_base(group) for group in groups)
            for base in bases:
                deadline = time.monotonic() + _CLEAR_SECONDS
                remove_groups(leftover_groups(base.directory), deadline)
            tops = tuple(
                GroupDirectory(
                    base.directory / supervisor_group_name(), base.controllers, base.version
                )
                for base in bases
            )
        except (OSError, NotDelegatedError) as error:
            return NoCgroup(str(error))
        try:
            for top in tops:
                _make_supervisor_group(top, uid)
        except OSError as error:
            return NoCgroup(f"no control group could be made: {error}")
        return cls(tops)

    def make_group(self) -> SandboxGroup:
        """Make a group for a new sandbox, without limits. Raises OSError."""
        self.remove_empty()
        number = next(self._numbers)
        groups = tuple(
            GroupDirectory(top.directory / str(number), top.controllers, top.version)
            for top in self._tops
        )
        for group in groups:
            group.directory.mkdir()
        return SandboxGroup(groups)

    def remove_empty(self) -> bool:
        """Try again to remove the groups of ended sandboxes; whether all are removed."""
        self._unremoved = [group for group in self._unremoved if not remove_group(group.directory)]
        return not self._unremoved

    def close(self) -> None:
        """Remove all groups that this user may remove; kills remaining processes of sandboxes."""
        sandboxes = [path for top in self._tops for path in top.directory.glob("[0-9]*")]
        remove_groups(sandboxes, time.monotonic() + _CLEAR_SECONDS)
        for top in self._tops:
            remove_group(top.directory)

    def discard_group(self, group: SandboxGroup) -> None:
        """Remove the group of an ended sandbox, now or as soon as it has no processes."""
        self._unremoved += group.remove()


def supervisor_group_name() -> str:
    """The name of this process's group: its pid, start time and pid namespace."""
    return f"{_PREFIX}{os.getpid()}-{_start_time(os.getpid())}-{_pid_namespace()}"


def leftover_groups(base: Path) -> list[Path]:
    """The groups below `base` of dead supervisors of this pid namespace.

    When a supervisor ends, its sandboxes end, but its groups remain: after it has stepped down from
    root, it may not remove the group that root made for it; and a killed supervisor removes
    nothing.
    """
    leftovers = []
    for path in base.glob(f"{_PREFIX}*-*-{_pid_namespace()}"):
        pid, start_time, _ = path.name.removeprefix(_PREFIX).split("-", 2)
        if pid.isdigit() and str(_start_time(int(pid))) != start_time:
            leftovers.append(path)
    return leftovers


def make_divisible(group: Path, controllers: frozenset[str]) -> Path:
    """Make the group of this process (version 2) limit its children by `controllers`; returns the
    group below which children can be made. Raises NotDelegatedError, OSError.
    """
    base = group.parent if group.name == LEAF else group
    missing = controllers - _read_words(base / "cgroup.subtree_control")
    if missing:
        if not _is_hierarchy_root(base):
            _move_processes_to_leaf(base)
        enable_controllers(base, missing)
    return base


def enable_controllers(group: Path, controllers: frozenset[str]) -> None:
    """Let `group` limit its children by `controllers`."""
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in controllers))


def is_delegated(group: Path, pids: set[int]) -> bool:
    """Whether this process may move the group's processes. It may if the group has no other
    process, belongs to an unprivileged user, is the root that a container sees, or has systemd's
    mark.
    """
    if pids <= {os.getpid()} or os.geteuid() != 0 or group.is_mount():
        return True
    for mark in ("user.delegate", "trusted.delegate"):
        try:
            if os.getxattr(group, mark) == b"1":
                return True
        except OSError:
            continue
    return False


def _divisible_base(group: GroupDirectory) -> GroupDirectory:
    """The group below which this process makes its own."""
    if not os.access(group.directory, os.W_OK, effective_ids=True):
        raise PermissionError(
            f"only root may make a control group below {group.directory}, or a user to whom it was "
            "delegated"
        )
    if group.version == 1:
        return group
    base = make_divisible(group.directory, group.controllers)
    return GroupDirectory(base, group.controllers, group.version)


def _make_supervisor_group(top: GroupDirectory, uid: int) -> None:
    top.directory.mkdir()
    new_groups = [top.directory]
    if top.version != 1:
        enable_controllers(top.directory, top.controllers)
        supervisor = top.directory / SUPERVISOR_GROUP
        supervisor.mkdir()
        (supervisor / "cgroup.procs").write_text(str(os.getpid()))
        new_groups.append(supervisor)
    if os.geteuid() == 0:
        for group in new_groups:
            for path in (group, *(group / file for file in _OWNED_FILES)):
                if path.exists():
                    os.chown(path, uid, -1)


def _move_processes_to_leaf(group: Path) -> None:
    """Move every process of `group` into its leaf group. Repeats, because processes may fork at the
    same time."""
    pids = _read_pids(group)
    if not is_delegated(group, pids):
        raise NotDelegatedError(
            f"the control group {group} was not delegated (for a systemd service: Delegate=yes)"
        )
    leaf = group / LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(_MOVE_ATTEMPTS):
        for pid in pids:
            _move_process(pid, leaf)
        pids = _read_pids(group)
        if not pids:
            return
    raise NotDelegatedError(f"processes of the control group {group} could not be moved")


def _move_process(pid: int, group: Path) -> None:
    try:
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        if error.errno != errno.ESRCH:  # the process has ended
            raise


def _read_pids(group: Path) -> set[int]:
    return {int(pid) for pid in (group / "cgroup.procs").read_text().split()}


def _is_hierarchy_root(group: Path) -> bool:
    """Whether it is the root of the complete hierarchy, which may have processes and children."""
    return not (group / "cgroup.type").exists()


def _read_words(file: Path) -> frozenset[str]:
    return frozenset(file.read_text().split())


def _start_time(pid: int) -> int | None:
    """A process's start time in clock ticks since boot; None if the process does not exist."""
    try:
        text = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return None
    return int(text.rpartition(b")")[2].split()[19])


def _pid_namespace() -> int:
    return Path("/proc/self/ns/pid").stat().st_ino
