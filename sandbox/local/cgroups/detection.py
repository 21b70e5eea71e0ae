"""Where this process's control groups lie, from what `/proc/self` says. Pure but for `look`.

A machine has control groups of version 1 (a tree of directories for each controller), of version 2
(one tree), or both beside each other; in a container it sees a part of them, often read-only.
Source: Linux, Documentation/admin-guide/cgroup-v1/ and cgroup-v2.rst; man 5 proc_pid_mountinfo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

WANTED = ("memory", "pids", "cpu", "cpuacct")
"""The last is version 1's alone: version 2 counts the time of every group."""


@dataclass(frozen=True, slots=True)
class NoCgroup:
    """There is no control group to be had, and why, for a person to read."""

    reason: str


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted hierarchy. `root` is the group that shows at `at`."""

    at: str
    root: str
    controllers: frozenset[str]
    """Those of version 1 that it is mounted with; none for version 2."""
    version: int
    writable: bool


@dataclass(frozen=True, slots=True)
class Place:
    """This process's own group in one hierarchy, and the wanted controllers that it offers."""

    directory: Path
    controllers: frozenset[str]
    version: int


def look() -> tuple[Place, ...] | NoCgroup:
    """The places of this process, on this machine."""
    try:
        own = memberships(Path("/proc/self/cgroup").read_text())
        there = mounts(Path("/proc/self/mountinfo").read_text())
    except OSError as error:
        return NoCgroup(f"/proc/self cannot be read: {error.strerror}")
    return choose(there, own)


def mounts(mountinfo: str) -> tuple[Mount, ...]:
    """The hierarchies that are mounted, in the order of `/proc/self/mountinfo`."""
    found = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        if kind not in {"cgroup", "cgroup2"}:
            continue
        _, _, _, root, at, flags, *_ = before.split(" ")
        of_super = frozenset(options.split(","))
        writable = "rw" in flags.split(",") and "rw" in of_super
        version = 2 if kind == "cgroup2" else 1
        controllers = frozenset(WANTED) & of_super if version == 1 else frozenset[str]()
        found.append(Mount(_plain(at), _plain(root), controllers, version, writable))
    return tuple(found)


def memberships(text: str) -> Mapping[str, str]:
    """`/proc/self/cgroup` as {controller: group}; version 2 goes by the empty name."""
    rows = (line.split(":", 2) for line in text.splitlines())
    return {name: group for _, names, group in rows for name in names.split(",")}


def choose(there: tuple[Mount, ...], own: Mapping[str, str]) -> tuple[Place, ...] | NoCgroup:
    """The places whose memory controller is this process's: version 1's where it is mounted so."""
    if not there:
        return NoCgroup("no control groups are mounted here")
    version = 1 if any("memory" in mount.controllers for mount in there) else 2
    places = []
    for mount in there:
        if mount.version != version or (version == 1 and not mount.controllers):
            continue
        directory = _directory(mount, own.get(min(mount.controllers, default="")))
        if directory is None:
            continue
        if not mount.writable:
            return NoCgroup(f"{mount.at} is mounted read-only, as in most containers")
        controllers = mount.controllers or _offered(directory)
        places.append(Place(directory, controllers, mount.version))
    if not any("memory" in place.controllers for place in places):
        return NoCgroup("the memory controller is not available to this process's control group")
    return tuple(place for place in places if place.controllers)


def _directory(mount: Mount, group: str | None) -> Path | None:
    """Where the group shows below the mount; None where it lies outside of what is mounted."""
    if group is None or ".." in group.split("/"):
        return None
    if mount.root == "/":
        return Path(mount.at + group.rstrip("/"))
    if group != mount.root and not group.startswith(f"{mount.root}/"):
        return None
    return Path(mount.at + group.removeprefix(mount.root))


def _offered(directory: Path) -> frozenset[str]:
    try:
        text = (directory / "cgroup.controllers").read_text()
    except OSError:
        return frozenset()
    return frozenset(WANTED) & frozenset(text.split())


def _plain(path: str) -> str:
    """A path of mountinfo, whose blanks and the like are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), path)
