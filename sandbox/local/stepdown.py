"""Steps down from root to an unprivileged user before any sandbox is made.

Root must not start sandboxes: the kernel exempts host uid 0 from RLIMIT_NPROC, and files of root
are readable in a sandbox if its user is root outside. The interpreter may be in a directory that
only root can enter (below `/root`). Such directories are bound into a mount namespace of this
process, at a path that the new uid can enter.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.policy import HOST_UID, HostEnvironment, HostMount
from sandbox.protocol import SandboxUnavailable

_CLONE_NEWNS = 0x20000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = (
    *(1, 2, 4, 32, 4096, 16384),
    1 << 18,
)
_PR_SET_NO_NEW_PRIVS = 38
_BIND_DIRECTORY = Path("/tmp")  # noqa: S108  (covered by a mount that only this process sees)


def step_down(host_env: HostEnvironment, uid: int) -> HostEnvironment:
    """Become `uid` if this process is root of the host; returns the environment with the paths that
    the new user can enter.

    Without root, changes nothing. Raises SandboxUnavailable if root lacks the capabilities for it.
    """
    if os.geteuid() == sandbox_uid(uid):
        return host_env
    trees = host_env.trees
    mounts = host_env.mounts if trees is None else (*host_env.mounts, trees)
    unreachable = unreachable_mounts(mounts)
    try:
        bound = _bind_mounts(unreachable) if unreachable else {}
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        _call(_libc().prctl, _PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    except OSError as error:
        raise SandboxUnavailable(
            f"root cannot step down to uid {uid} here ({error.strerror}); a sandbox is never "
            "started as root. Run the worker as an unprivileged user, with an interpreter that "
            "it can read."
        ) from error
    return replace(
        host_env,
        mounts=tuple(bound.get(mount, mount) for mount in host_env.mounts),
        trees=None if trees is None else bound.get(trees, trees),
    )


def give_to_sandbox_user(directory: Path, uid: int = HOST_UID) -> None:
    """Give all files in a directory to the user and group of this process's sandboxes
    (`sandbox_uid`), because code cannot write copies of files that belong to another user.
    """
    owner = sandbox_uid(uid)
    if owner == os.geteuid():
        return
    os.chown(directory, owner, owner)
    for folder, folders, names in os.walk(directory):
        for name in (*folders, *names):
            os.chown(f"{folder}/{name}", owner, owner, follow_symlinks=False)


def sandbox_uid(uid: int = HOST_UID) -> int:
    """The uid, outside, of this process's sandboxes: its supervisor becomes this user."""
    if os.geteuid() != 0 or is_user_outside(Path("/proc/self/uid_map").read_text(), uid):
        return os.geteuid()
    return uid


def is_user_outside(uid_map: str, uid: int) -> bool:
    """Whether root of this namespace is an ordinary user outside, and `uid` does not exist."""
    ranges = [tuple(map(int, line.split())) for line in uid_map.splitlines()]
    outside = next((out for inside, out, _ in ranges if inside == 0), 0)
    has_uid = any(inside <= uid < inside + count for inside, _, count in ranges)
    return outside != 0 and not has_uid


def is_open_to_all(path: Path) -> bool:
    """Whether any user can enter the directories above `path` and read it."""
    is_reachable = all(parent.stat().st_mode & stat.S_IXOTH for parent in path.parents)
    return is_reachable and bool(path.stat().st_mode & stat.S_IROTH)


def unreachable_mounts(mounts: Sequence[HostMount]) -> list[HostMount]:
    """The mounts with a source that the new uid cannot reach. If there is one, also the mounts with
    a source that `_bind_mounts` covers.
    """
    hidden = [mount for mount in mounts if not is_open_to_all(Path(mount.source))]
    if not hidden:
        return []
    return [
        mount
        for mount in mounts
        if mount in hidden or _leads_through(Path(mount.source), _BIND_DIRECTORY)
    ]


def _leads_through(path: Path, directory: Path) -> bool:
    """Whether `path`, or the path without links, is below `directory`."""
    return path.is_relative_to(directory) or path.resolve().is_relative_to(directory)


def _bind_mounts(unreachable: list[HostMount]) -> dict[HostMount, HostMount]:
    """Bind the sources of mounts below a directory that any user can enter, in a new mount
    namespace. Returns the mount with the new source for each of them.
    """
    _call(_libc().unshare, _CLONE_NEWNS)
    _mount("none", "/", None, _MS_REC | _MS_PRIVATE)
    # Opened first: the tmpfs covers the sources below `_BIND_DIRECTORY`.
    sources = {mount: os.open(mount.source, os.O_PATH | os.O_CLOEXEC) for mount in unreachable}
    _mount("tmpfs", str(_BIND_DIRECTORY), "tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=0755,size=64k")
    bound = {}
    for number, (mount, fd) in enumerate(sources.items()):
        path = _BIND_DIRECTORY / str(number)
        path.mkdir(mode=0o755)
        _mount(f"/proc/self/fd/{fd}", str(path), None, _MS_BIND | _MS_REC)
        _mount("none", str(path), None, _MS_BIND | _MS_REMOUNT | _MS_RDONLY | _MS_NOSUID)
        bound[mount] = HostMount(str(path), mount.target)
        os.close(fd)
    return bound


def _mount(source: str, target: str, kind: str | None, flags: int, options: bytes = b"") -> None:
    _call(
        _libc().mount,
        source.encode(),
        target.encode(),
        None if kind is None else kind.encode(),
        ctypes.c_ulong(flags),
        options or None,
    )


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(function: Callable[..., int], *arguments: object) -> None:
    """Call a function of libc that returns 0, or -1 and sets errno. Raises OSError."""
    if function(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")
