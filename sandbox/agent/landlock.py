"""Landlock: a second lock on the file system and on signals, held by the kernel for the code.

The sandbox's mounts already decide what is there and what is read-only. These rules say it once
more, in a way that no mount, no descriptor that was left open and no trick with `/proc` undoes: a
restricted process changes files below the writable places alone, cannot signal, trace or reach by
an abstract socket a process that is not restricted too, and cannot mount. All of a sandbox is
restricted by the same rules, its agent too: what keeps the code from that is that it is the
sandbox's first process, to whom the kernel lets no deadly signal through, and not dumpable. Source:
Linux, Documentation/userspace-api/landlock.rst.

Runs inside a sandbox: the standard library alone, and little of that.
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
_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << n for n in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER = (
    1 << n for n in range(6, 14)
)
_TRUNCATE, _IOCTL_DEV = 1 << 14, 1 << 15

_LOOK = _EXECUTE | _READ_FILE | _READ_DIR
_MAKE = _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
_CHANGE = _MAKE | _REFER | _REMOVE_DIR | _REMOVE_FILE | _WRITE_FILE | _TRUNCATE
_USE_DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL_DEV
_OF_A_FILE = _EXECUTE | _USE_DEVICE
# Device nodes are handled and granted nowhere: nobody makes one.
_FIRST = _LOOK | _MAKE_CHAR | _MAKE_BLOCK | _CHANGE & ~_TRUNCATE

_TRUNCATE_SINCE, _IOCTL_SINCE, _SCOPES_SINCE, _QUIET_SINCE = 3, 5, 6, 7
_LEAST = 2
"""The first ABI lets nobody rename from one directory into another, which programs rely on."""

_SCOPE_ABSTRACT_SOCKETS, _SCOPE_SIGNALS = 1, 2
_LOG_SAME_EXEC_OFF, _LOG_SUBDOMAINS_OFF = 1, 4

WRITABLE = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108  (the sandbox's own)
DEVICES = ("/dev",)
"""A directory of devices alone: nothing else is there, and nobody makes anything there."""


_LIBC = ctypes.PyDLL(None, use_errno=True)
# Looked up now: in a fresh copy of a process, the first time takes as long as all the rules.
_SYSCALL, _PRCTL = _LIBC.syscall, _LIBC.prctl
_SYSCALL.restype = ctypes.c_long
# A pointer's width for each, numbers too: the kernel reads whole registers.
_SYSCALL.argtypes = (ctypes.c_long, *(4 * (ctypes.c_void_p,)))
_NOTHING = (0, 0, 0, 0)


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr"""

    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("fd", ctypes.c_int32))


def version() -> int:
    """The ABI that this kernel offers to this process; 0 where it offers none."""
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError as error:
        # Not built in; built in and not switched on; hidden by a container's system call filter.
        if error.errno in {errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}:
            return 0
        raise


class Rules:
    """The rules, with all that can be made of them beforehand.

    Below `readable` files are read and executed, below `writable` they are also made, changed and
    removed, and `devices` are read, written and controlled. A place that does not exist needs no
    rule: what no rule grants is refused. Loopback is not touched.

    A fresh copy of a process pays for each page of memory that it is the first to write to, which
    takes longer than these calls do: so what `restrict` needs is made here, before the copy. A
    place must be of the same kind, directory or not, then and now.
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
        # Code that is refused a million files must not fill the host's audit log with it.
        self._quiet = _LOG_SAME_EXEC_OFF | _LOG_SUBDOMAINS_OFF if abi >= _QUIET_SINCE else 0
        self._grants = [
            (os.fsencode(place), _beneath(place, access & handled))
            for access, places in (
                (_LOOK, readable),
                (_LOOK | _CHANGE, writable),
                (_LOOK | _USE_DEVICE, devices),
            )
            for place in places
            if os.path.exists(place)  # noqa: PTH110
        ]

    def restrict(self) -> int:
        """Apply the rules to this thread and all that it starts; returns the ABI that was used.

        Cannot be undone; no_new_privs is set. Call it after the last mount and before a system call
        filter. Returns 0, having done nothing, where the kernel has no Landlock or only its first
        ABI; raises OSError where the kernel offers it and then refuses.
        """
        if self.abi < _LEAST:
            return 0
        ruleset = _call(_CREATE_RULESET, self._attributes, len(self._attributes), 0)
        try:
            for place, beneath in self._grants:
                _grant(ruleset, place, beneath)
            if _PRCTL(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
                raise _last_error("prctl")
            _call(_RESTRICT_SELF, ruleset, self._quiet)
        finally:
            os.close(ruleset)
        return self.abi


def restrict() -> int:
    """A sandbox's rules, made and put up at once: see `Rules.restrict`."""
    return Rules().restrict()


def _handled(abi: int) -> int:
    """Every right to the file system that this ABI knows."""
    later = ((_TRUNCATE_SINCE, _TRUNCATE), (_IOCTL_SINCE, _IOCTL_DEV))
    return _FIRST | sum(right for since, right in later if abi >= since)


def _beneath(place: str, access: int) -> _Beneath:
    """What is granted at a place that exists."""
    is_directory = stat.S_ISDIR(os.stat(place).st_mode)  # noqa: PTH116
    return _Beneath(access if is_directory else access & _OF_A_FILE, -1)


def _grant(ruleset: int, place: bytes, beneath: _Beneath) -> None:
    try:
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        beneath.fd = fd
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(beneath), 0)
    finally:
        os.close(fd)


def _call(number: int, *arguments: object) -> int:
    """A system call by its number. Raises OSError."""
    answer = int(_SYSCALL(number, *arguments, *_NOTHING[len(arguments) :]))
    if answer < 0:
        raise _last_error("landlock")
    return answer


def _last_error(said: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{said}: {os.strerror(number)}")
