"""Examines the sandbox that it runs in, as the code of a run, and prints one JSON object.

It reports the real behaviour of the sandbox, not its configuration: it tries each protection.
`isolation_layers.py` reads the object.
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
_READ_ONLY_PATHS = ("/usr/probe", "/etc/probe", "/opt/probe", "/probe")
_TMPFS = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108  (the sandbox's own)
_OWN_FILE_SYSTEMS = {"tmpfs", "proc", "devpts", "mqueue", "overlay"}
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
        "writable": [path for path in _READ_ONLY_PATHS if _can_write(path)],
        "tmpfs": {path: _capacity(path) for path in _TMPFS},
        "shared": _shared_directories(),
        "landlock": _landlock_version(),
        "landlocked": _is_landlocked(),
        "environment_of_init": _environment_of_init(),
        "processes": resource.getrlimit(resource.RLIMIT_NPROC)[1],
        "pid": os.getpid(),
    }
    print(json.dumps(findings))


def _unshare_error() -> str:
    """The kernel's error for a new user namespace; empty if the kernel allows one."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER) == 0:
        return ""
    return errno.errorcode[ctypes.get_errno()]


def _can_write(path: str) -> bool:
    try:
        Path(path).write_text("")
    except OSError:
        return False
    return True


def _capacity(path: str) -> tuple[int, int]:
    """The bytes and the files that a file system can hold; (0, 0) if it has no limit."""
    stats = os.statvfs(path)
    return stats.f_frsize * stats.f_blocks, stats.f_files


def _shared_directories() -> list[str]:
    """The directories that have the very files of other sandboxes, so that locks on them are
    shared."""
    mounts = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    # A later mount on a path covers an earlier one. A part of another file system is a bind mount.
    is_own = {
        fields[4]: fields[3] == "/" and fields[fields.index("-") + 1] in _OWN_FILE_SYSTEMS
        for fields in mounts
    }
    if not is_own["/"]:  # the base container's, which holds names and a few lines
        is_own = {"/etc": False, "/agent": False} | is_own | {"/": True}
    shared = (path for path in is_own if not is_own[path] and Path(path).is_dir())
    return sorted(path for path in shared if os.access(path, os.R_OK))  # to lock, code must read


def _landlock_version() -> int:
    """The ABI that the kernel offers, or 0."""
    call = ctypes.CDLL(None).syscall
    call.restype = ctypes.c_long
    flags = ctypes.c_uint(_LANDLOCK_VERSION)
    version = call(ctypes.c_long(_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), flags)
    return max(0, int(version))


def _is_landlocked() -> bool:
    """Whether writing is refused to a file that this process may write by its mode and mount."""
    score = Path("/proc/self/oom_score_adj")
    try:
        score.write_text(score.read_text())
    except PermissionError as error:
        return error.errno == errno.EACCES
    return False


def _environment_of_init() -> int:
    """The readable size of pid 1's environment; 0 also if reading it is refused."""
    try:
        return len(Path("/proc/1/environ").read_bytes())
    except PermissionError:
        return 0


if __name__ == "__main__":
    main()
