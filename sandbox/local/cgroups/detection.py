"""Finds this process's control groups from `/proc/self`. Pure, except `find_groups`.

A machine has control groups of version 1 (a tree of directories for each controller), of version 2
(one tree), or both. A container sees a part of them, often read-only.
Source: Linux, Documentation/admin-guide/cgroup-v1/ and cgroup-v2.rst; man 5 proc_pid_mountinfo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids", "cpu", "cpuacct")
"""The controllers that sandboxes use. Only version 1 has cpuacct: version 2 always counts time."""


@dataclass(frozen=True, slots=True)
class NoCgroup:
    """No control group can be used."""

    reason: str
    """The reason, for the operator."""


@dataclass(frozen=True, slots=True)
class CgroupMount:
    """A mounted hierarchy of control groups."""

    path: str
    root: str
    """The group that is visible at `path`."""
    controllers: frozenset[str]
    """Version 1: the controllers of this hierarchy. Version 2: empty."""
    version: int
    is_writable: bool


@dataclass(frozen=True, slots=True)
class GroupDirectory:
    """A group in one hierarchy, and the usable controllers of that hierarchy."""

    directory: Path
    controllers: frozenset[str]
    version: int


def find_groups() -> tuple[GroupDirectory, ...] | NoCgroup:
    """The groups of this process."""
    try:
        memberships = parse_memberships(Path("/proc/self/cgroup").read_text())
        mounts = parse_mounts(Path("/proc/self/mountinfo").read_text())
    except OSError as error:
        return NoCgroup(f"/proc/self cannot be read: {error.strerror}")
    return choose_groups(mounts, memberships)


def parse_mounts(mountinfo: str) -> tuple[CgroupMount, ...]:
    """The mounted hierarchies, in the order of `/proc/self/mountinfo`."""
    mounts = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind not in {"cgroup", "cgroup2"}:
            continue
        _, _, _, root, path, flags, *_ = before.split(" ")
        super_options = frozenset(options.split(","))
        is_writable = "rw" in flags.split(",") and "rw" in super_options
        version = 2 if kind == "cgroup2" else 1
        controllers = frozenset(CONTROLLERS) & super_options if version == 1 else frozenset[str]()
        mounts.append(
            CgroupMount(_unescape(path), _unescape(root), controllers, version, is_writable)
        )
    return tuple(mounts)


def parse_memberships(text: str) -> Mapping[str, str]:
    """`/proc/self/cgroup` as {controller: group}; version 2 has the empty name."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: group for _, names, group in rows for name in names.split(",")}


def choose_groups(
    mounts: tuple[CgroupMount, ...], memberships: Mapping[str, str]
) -> tuple[GroupDirectory, ...] | NoCgroup:
    """The groups of this process, of version 1 if that version has the memory controller."""
    if not mounts:
        return NoCgroup("no control groups are mounted here")
    version = 1 if any("memory" in mount.controllers for mount in mounts) else 2
    groups = []
    for mount in mounts:
        if mount.version != version or (version == 1 and not mount.controllers):
            continue
        directory = _group_directory(mount, memberships.get(min(mount.controllers, default="")))
        if directory is None:
            continue
        if not mount.is_writable:
            return NoCgroup(f"{mount.path} is mounted read-only, as in most containers")
        controllers = mount.controllers or _read_controllers(directory)
        groups.append(GroupDirectory(directory, controllers, mount.version))
    if not any("memory" in group.controllers for group in groups):
        return NoCgroup("the memory controller is not available to this process's control group")
    return tuple(group for group in groups if group.controllers)


def _group_directory(mount: CgroupMount, group: str | None) -> Path | None:
    """The directory of the group below the mount; None if the mount does not contain the group."""
    if group is None or ".." in group.split("/"):
        return None
    if mount.root == "/":
        return Path(mount.path + group.rstrip("/"))
    if group != mount.root and not group.startswith(f"{mount.root}/"):
        return None
    return Path(mount.path + group.removeprefix(mount.root))


def _read_controllers(directory: Path) -> frozenset[str]:
    try:
        text = (directory / "cgroup.controllers").read_text()
    except OSError:
        return frozenset()
    return frozenset(CONTROLLERS) & frozenset(text.split())


def _unescape(path: str) -> str:
    """A path of mountinfo, which writes special characters in octal."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path)
