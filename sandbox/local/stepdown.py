"""From root to nobody in particular, before any sandbox is made.

Root is no place to start a sandbox from: the kernel exempts host uid 0 from RLIMIT_NPROC, and files
of root are readable in a sandbox whose user is root outside. The interpreter may lie where only
root gets to (below `/root`): such trees are bound into a mount namespace of this process alone,
where the new uid reaches them.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.policy import HOST_UID, HostEnvironment, Tree
from sandbox.protocol import SandboxUnavailable

_CLONE_NEWNS = 0x20000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    *(1, 2, 4, 32, 4096, 16384),
    1 << 18,
)
_PR_SET_NO_NEW_PRIVS = 38
_MOUNTS = Path("/tmp")  # noqa: S108  (a mount of our own goes over it, for us alone)


def step_down(host_env: HostEnvironment, uid: int) -> HostEnvironment:
    """Become `uid` where this process is root of the host, and return the ground as it sees it.

    Elsewhere nothing changes. Raises SandboxUnavailable where root has not the capabilities for it.
    """
    if os.geteuid() == owner(uid):
        return host_env
    layers = host_env.layers
    trees = host_env.trees if layers is None else (*host_env.trees, layers)
    unreachable = unreachable_trees(trees)
    try:
        mounts = _bind_trees(unreachable) if unreachable else {}
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        _call("prctl", _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    except OSError as error:
        raise SandboxUnavailable(
            f"root cannot step down to uid {uid} here ({error.strerror}); a sandbox is never "
            "started as root. Run the worker as an unprivileged user, with an interpreter that "
            "it can read."
        ) from error
    return replace(
        host_env,
        trees=tuple(mounts.get(tree, tree) for tree in host_env.trees),
        layers=None if layers is None else mounts.get(layers, layers),
    )


def give(tree: Path, uid: int = HOST_UID) -> None:
    """Give everything in a directory to the user and group that sandboxes of this process are
    outside: of what belongs to others their code cannot write copies.
    """
    given = owner(uid)
    if given == os.geteuid():
        return
    os.chown(tree, given, given)
    for place, folders, names in os.walk(tree):
        for name in (*folders, *names):
            os.chown(f"{place}/{name}", given, given, follow_symlinks=False)


def owner(uid: int = HOST_UID) -> int:
    """The uid that sandboxes of this process have outside: what its supervisor becomes."""
    if os.geteuid() != 0 or is_user_outside(Path("/proc/self/uid_map").read_text(), uid):
        return os.geteuid()
    return uid


def is_user_outside(uid_map: str, uid: int) -> bool:
    """Whether our root is an ordinary user outside, who has no other uid to step down to."""
    ranges = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    outside = next((out for inside, out, _ in ranges if inside == 0), 0)
    has_uid = any(inside <= uid < inside + count for inside, _, count in ranges)
    return outside != 0 and not has_uid


def is_open_to_all(path: Path) -> bool:
    """Whether any user gets to `path` and may read it."""
    reached = all(place.stat().st_mode & stat.S_IXOTH for place in path.parents)
    return reached and bool(path.stat().st_mode & stat.S_IROTH)


def unreachable_trees(trees: Sequence[Tree]) -> list[Tree]:
    """The trees that are to be bound where the new uid reaches them: those that are hidden from
    it, and with the first of these all that the doorway itself will cover.
    """
    hidden = [tree for tree in trees if not is_open_to_all(Path(tree.source))]
    if not hidden:
        return []
    return [tree for tree in trees if tree in hidden or _leads_through(Path(tree.source), _MOUNTS)]


def _leads_through(path: Path, place: Path) -> bool:
    """Whether the way to `path`, or what it leads to, goes through `place`."""
    return path.is_relative_to(place) or path.resolve().is_relative_to(place)


def _bind_trees(unreachable: list[Tree]) -> dict[Tree, Tree]:
    """Bind trees below a directory that any user reaches, in a mount namespace of our own."""
    _call("unshare", _CLONE_NEWNS)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    # Opened first: what lies below the doorway itself is out of sight once it is covered.
    sources = {tree: os.open(tree.source, os.O_PATH | os.O_CLOEXEC) for tree in unreachable}
    _mount("tmpfs", str(_MOUNTS), "tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=0755,size=64k")
    mounts = {}
    for number, (tree, fd) in enumerate(sources.items()):
        mount = _MOUNTS / str(number)
        mount.mkdir(mode=0o755)
        _mount(f"/proc/self/fd/{fd}", str(mount), None, _MS_BIND | _MS_REC)
        _mount("none", str(mount), None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID)
        mounts[tree] = Tree(str(mount), tree.at)
        os.close(fd)
    return mounts


def _mount(source: str, at: str, kind: str | None, flags: int, options: bytes = b"") -> None:
    _call(
        "mount",
        source.encode(),
        at.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options or None,
    )


def _call(name: str, *arguments: object) -> None:
    """A function of libc that answers 0, or -1 and errno. Raises OSError."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
