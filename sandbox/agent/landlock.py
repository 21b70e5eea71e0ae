"""Landlock rules: a second protection of the file system, and of processes against signals.

The sandbox's mounts already decide which files exist and which are read-only. The kernel enforces
these rules in addition, and no mount, no open descriptor and no path through `/proc` avoids them. A
restricted process can change files only below the writable directories. It can neither signal nor
trace a process without the same restriction, nor reach it by an abstract socket, and it cannot
mount. The same rules restrict the agent. Two other facts protect the agent from the code: it is the
sandbox's first process, so the kernel delivers no deadly signal to it, and it is not dumpable.
Source: Linux, Documentation/userspace-api/landlock.rst.

Runs inside a sandbox: imports the standard library only, and few modules of it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_GET_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER = (
    1 << n for n in range(6, 14)
)
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE = _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
_CHANGE = _MAKE | _REFER | _REMOVE_DIR | _REMOVE_FILE | _WRITE_FILE | _TRUNCATE
_USE_DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_FILE_RIGHTS = _EXECUTE | _USE_DEVICE
# The rules handle the making of device nodes and grant it nowhere, so no process can make one.
_FIRST = _READ | _MAKE_CHAR | _MAKE_BLOCK | _CHANGE & ~_TRUNCATE

_TRUNCATE_SINCE, _IOCTL_SINCE, _SCOPES_SINCE, _QUIET_SINCE = 3, 5, 6, 7
_MIN_ABI = 2
"""The first ABI refuses to rename from one directory into another, which programs need."""

_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_LOG_SAME_EXEC_OFF, _LOG_SUBDOMAINS_OFF = 1, 4

WRITABLE = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108  (the sandbox's own)
DEVICES = ("/dev",)
"""A directory that has only devices, and in which no process can make an entry."""


_LIBC = ctypes.PyDLL(None, use_errno=True)
# Looked up now: in a fresh copy of a process, the first lookup takes as long as all the rules.
_SYSCALL, _PRCTL = _LIBC.syscall, _LIBC.prctl
_SYSCALL.restype = ctypes.c_long
# Each argument has a pointer's width, numbers too, because the kernel reads full registers.
_SYSCALL.argtypes = (ctypes.c_long, *(4 * (ctypes.c_void_p,)))
_UNUSED_ARGUMENTS = (0, 0, 0, 0)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr"""

    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def version() -> int:
    """The ABI that this kernel offers to this process; 0 if it offers none."""
    try:
        return _call(_CREATE_RULESET, None, 0, _GET_VERSION)
    except OSError as error:
        # Not built in; built in and not switched on; hidden by a container's system call filter.
        if error.errno in {errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}:
            return 0
        raise


class Rules:
    """The rules, prepared as far as possible.

    Processes may read and execute files below `readable`. Below `writable` they may also make,
    change and remove files. They may read, write and control `devices`. A path that does not exist
    needs no rule, because every access without a rule is refused. The rules do not affect loopback.

    A fresh copy of a process pays for each memory page that it writes first, which takes longer
    than these calls. So the constructor prepares all values of `restrict` before the copy. A path
    must be of the same kind (directory or file) at both times.
    """

    def __init__(
        self,
        writable: Iterable[str] = WRITABLE,
        devices: Iterable[str] = DEVICES,
        readable: Iterable[str] = ("/",),
    ) -> None:
        self.abi = abi = version()
        handled = _handled(abi)
        scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if abi >= _SCOPES_SINCE else 0
        network = 0
        # An older kernel takes a longer struct of zeros.
        self._attributes = struct.pack("=QQQ", handled, network, scopes)
        # Code with a million refused accesses must not fill the host's audit log.
        self._quiet = _LOG_SAME_EXEC_OFF | _LOG_SUBDOMAINS_OFF if abi >= _QUIET_SINCE else 0
        self._grants = [
            (os.fsencode(path), _beneath(path, access & handled))
            for access, paths in (
                (_READ, readable),
                (_READ | _CHANGE, writable),
                (_READ | _USE_DEVICE, devices),
            )
            for path in paths
            if os.path.exists(path)  # noqa: PTH110
        ]

    def restrict(self) -> int:
        """Apply the rules to this thread and to all that it starts; returns the ABI.

        Cannot be undone, and sets no_new_privs. Call it after the last mount and before a system
        call filter. If the kernel has no Landlock, or only the first ABI, applies no rules and
        returns 0. Raises OSError if the kernel offers Landlock and then refuses a call.
        """
        if self.abi < _MIN_ABI:
            return 0
        ruleset = _call(_CREATE_RULESET, self._attributes, len(self._attributes), 0)
        try:
            for path, beneath in self._grants:
                _grant(ruleset, path, beneath)
            if _PRCTL(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                raise _last_error("prctl")
            _call(_RESTRICT_SELF, ruleset, self._quiet)
        finally:
            os.close(ruleset)
        return self.abi


def restrict() -> int:
    """Prepare and apply the rules of a sandbox: see `Rules.restrict`."""
    return Rules().restrict()


def _handled(abi: int) -> int:
    """All file system rights that this ABI knows."""
    newer_rights = ((_TRUNCATE_SINCE, _TRUNCATE), (_IOCTL_SINCE, _IOCTL_DEV))
    return _FIRST | sum(right for since, right in newer_rights if abi >= since)


def _beneath(path: str, access: int) -> _Beneath:
    """The rights to an existing path."""
    is_directory = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116
    return _Beneath(access if is_directory else access & _FILE_RIGHTS, -1)


def _grant(ruleset: int, path: bytes, beneath: _Beneath) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        beneath.fd = fd
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(fd)


def _call(number: int, *arguments: object) -> int:
    """Make a system call by its number. Raises OSError."""
    result = int(_SYSCALL(number, *arguments, *_UNUSED_ARGUMENTS[len(arguments) :]))
    if result < 0:
        raise _last_error("landlock")
    return result


def _last_error(name: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{name}: {os.strerror(number)}")
