"""Looks around in a sandbox, run as code is run, and prints what it finds as one JSON object.

It reports what happens, not what is configured: each lock is tried.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import resource
import socket
from pathlib import Path

_NAMESPACES = ("user", "pid", "net", "ipc", "uts", "mnt", "cgroup")
_CLONE_NEWUSER = 0x10000000
_PLACES = ("/usr/probe", "/etc/probe", "/opt/probe", "/probe")
_TMPFS = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108  (the sandbox's own)
_OWN = {"tmpfs", "proc", "devpts", "mqueue", "overlay"}
_LANDLOCK_CREATE_RULESET, _LANDLOCK_VERSION = 444, 1


def main() -> None:
    """Print the findings."""
    lines = Path("/proc/self/status").read_text().splitlines()
    status = {key: value for key, _, value in (line.partition(":\t") for line in lines)}
    findings = {
        "namespaces": {name: str(Path("/proc/self/ns", name).readlink()) for name in _NAMESPACES},
        "interfaces": [name for _, name in socket.if_nameindex()],
        "capabilities": sum(
            int(status[key], 16) for key in ("CapEff", "CapPrm", "CapBnd", "CapAmb")
        ),
        "no_new_privs": status["NoNewPrivs"] == "1",
        "seccomp": int(status["Seccomp"]),
        "unshare": _unshare_error(),
        "writable": [place for place in _PLACES if _can_write(place)],
        "tmpfs": {place: _size(place) for place in _TMPFS},
        "shared": _shared(),
        "landlock": _landlock_version(),
        "landlocked": _is_landlocked(),
        "environment_of_init": _environment_of_init(),
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[1],
        "pid": os.getpid(),
    }
    print(json.dumps(findings))


def _unshare_error() -> str:
    """What the kernel answers to a new user namespace, where attacks on it tend to begin."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) == 0:
        return ""
    return errno.errorcode[ctypes.get_errno()]


def _can_write(place: str) -> bool:
    try:
        Path(place).write_text("")
    except OSError:
        return False
    return True


def _size(place: str) -> tuple[int, int]:
    """Bytes and files that a place can hold; (0, 0) where that has no end."""
    found = os.statvfs(place)
    return found.f_frsize * found.f_blocks, found.f_files


def _shared() -> list[str]:
    """Trees of the host that are the very ones that other sandboxes see, in which locks meet."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    # A later mount at a place covers an earlier one; a part of something else is bound to it.
    own = {each[4]: each[3] == "/" and each[each.index("-") + 1] in _OWN for each in mounts}
    if not own["/"]:  # the base container's, which holds names and a few lines
        own = {"/etc": False, "/agent": False} | own | {"/": True}
    seen = (at for at, is_own in own.items() if not is_own and Path(at).is_dir())
    return sorted(at for at in seen if os.access(at, os.R_OK))  # who cannot open it locks nothing


def _landlock_version() -> int:
    """The ABI that the kernel offers, or 0."""
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    flags = ctypes.c_uint(_LANDLOCK_VERSION)
    version = call(ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), flags)
    return max(0, int(version))


def _is_landlocked() -> bool:
    """Whether a file that is a process's own to write, by its mode and mount, is refused to it."""
    own = Path("/proc/self/oom_score_adj")
    try:
        own.write_text(own.read_text())
    except PermissionError as error:
        return error.errno == errno.EACCES
    return False


def _environment_of_init() -> int:
    """How much of pid 1's environment is seen: nothing, too, where it may not be looked at."""
    try:
        return len(Path("/proc/1/environ").read_bytes())
    except PermissionError:
        return 0


if __name__ == "__main__":
    main()
