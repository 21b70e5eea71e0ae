"""A subtree of version 2 control groups that this process may divide.

Version 2 lets a group limit its children only while no process is in the group itself. systemd
gives a service such a subtree with `Delegate=yes`, and a container may have one as its root; what
runs there moves into a leaf, once. Nothing is moved in a group that was not delegated.
Source: systemd.io/CGROUP_DELEGATION; Linux, Documentation/admin-guide/cgroup-v2.rst.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

LEAF = "fettle-processes"
"""Where the processes go that were in the delegated group itself: the worker, for one."""
_TRIES = 20


class NotDelegatedError(Exception):
    """This process may not divide the group; says what would allow it."""


def divisible(own: Path, controllers: frozenset[str]) -> Path:
    """The group below which children can be limited by `controllers`, made so if need be.

    `own` is this process's group. Raises NotDelegatedError, or OSError from the kernel.
    """
    base = own.parent if own.name == LEAF else own
    missing = controllers - _words(base / "cgroup.subtree_control")
    if missing:
        if not _is_root(base):
            _empty(base)
        enable(base, missing)
    return base


def enable(group: Path, controllers: frozenset[str]) -> None:
    """Let `group` limit its children by `controllers`."""
    (group / "cgroup.subtree_control").write_text(" ".join(f"+{each}" for each in controllers))


def is_delegated(group: Path, pids: set[int]) -> bool:
    """Whether this process may move the group's processes: it holds this process alone, belongs to
    an unprivileged user, is the root of what a container sees, or systemd has marked it.
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


def _empty(group: Path) -> None:
    """Move every process of `group` into its leaf; some may be forking meanwhile."""
    pids = _processes(group)
    if not is_delegated(group, pids):
        raise NotDelegatedError(
            f"the control group {group} was not delegated (for a systemd service: Delegate=yes)"
        )
    leaf = group / LEAF
    leaf.mkdir(exist_ok=True)
    for _ in range(_TRIES):
        for pid in pids:
            _move(pid, leaf)
        pids = _processes(group)
        if not pids:
            return
    raise NotDelegatedError(f"processes of the control group {group} could not be moved")


def _move(pid: int, group: Path) -> None:
    try:
        (group / "cgroup.procs").write_text(str(pid))
    except OSError as error:
        if error.errno != errno.ESRCH:  # it has ended meanwhile
            raise


def _processes(group: Path) -> set[int]:
    return {int(pid) for pid in (group / "cgroup.procs").read_text().split()}


def _is_root(group: Path) -> bool:
    """Whether it is the root of the whole hierarchy, which may hold processes and children."""
    return not (group / "cgroup.type").exists()


def _words(file: Path) -> frozenset[str]:
    return frozenset(file.read_text().split())
