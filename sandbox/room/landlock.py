"""Landlock: a second lock on the file system and on signals, held by the kernel for the code.

The room's mounts already decide what is there and what is read-only. These rules say it once more,
in a way that no mount, no descriptor that was left open and no trick with `/proc` undoes: whoever
is behind them changes files below the writable places alone, cannot signal, trace or reach by an
abstract socket a process that is not behind them too (the room's agent is not), and cannot mount.
Source: Linux, Documentation/userspace-api/landlock.rst.

Runs inside a room: the standard library alone, and little of that.
"""

from __future__ import annotations

import ctypes
import errno
import functools
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

WRITABLE = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108  (the room's own)
DEVICES = (
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"),
    *("/dev/ptmx", "/dev/pts"),
)


def version() -> int:
    """The ABI that this kernel offers to this process; 0 where it offers none."""
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError as error:
        # Not built in; built in and not switched on; hidden by a container's system call filter.
        if error.errno in {errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}:
            return 0
        raise


def restrict(
    writable: Iterable[str] = WRITABLE,
    devices: Iterable[str] = DEVICES,
    readable: Iterable[str] = ("/",),
) -> int:
    """Put this thread, and whatever it starts, behind the rules; returns the ABI that was used.

    Below `readable` files are read and executed, below `writable` they are also made, changed and
    removed, and `devices` are read, written and controlled. A place that does not exist needs no
    rule: what no rule grants is refused. Loopback is not touched. Cannot be undone; no_new_privs is
    set. Call it after the last mount and before a system call filter. Returns 0, having done
    nothing, where the kernel has no Landlock or only its first ABI; raises OSError where the kernel
    offers it and then refuses.
    """
    abi = version()
    if abi < _LEAST:
        return 0
    handled = _handled(abi)
    ruleset = _ruleset(abi, handled)
    try:
        for access, places in (
            (_LOOK, readable),
            (_LOOK | _CHANGE, writable),
            (_LOOK | _USE_DEVICE, devices),
        ):
            for place in places:
                _grant(ruleset, place, access & handled)
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        # Code that is refused a million files must not fill the host's audit log with it.
        quiet = _LOG_SAME_EXEC_OFF | _LOG_SUBDOMAINS_OFF if abi >= _QUIET_SINCE else 0
        _call(_RESTRICT_SELF, ruleset, quiet)
    finally:
        os.close(ruleset)
    return abi


def _handled(abi: int) -> int:
    """Every right to the file system that this ABI knows."""
    later = ((_TRUNCATE_SINCE, _TRUNCATE), (_IOCTL_SINCE, _IOCTL_DEV))
    return _FIRST | sum(right for since, right in later if abi >= since)


def _ruleset(abi: int, handled: int) -> int:
    """A descriptor of an empty set of rules. An older kernel takes a longer struct of zeros."""
    scopes = _SCOPE_ABSTRACT_SOCKETS | _SCOPE_SIGNALS if abi >= _SCOPES_SINCE else 0
    network = 0
    attributes = struct.pack("=QQQ", handled, network, scopes)
    return _call(_CREATE_RULESET, attributes, len(attributes), 0)


def _grant(ruleset: int, place: str, access: int) -> None:
    try:
        fd = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= _OF_A_FILE
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, fd), 0)
    finally:
        os.close(fd)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """A system call by its number. Raises OSError."""
    given = (ctypes.c_long(each) if isinstance(each, int) else each for each in arguments)
    answer = int(_libc().syscall(ctypes.c_long(number), *given))
    if answer < 0:
        raise _last_error("landlock")
    return answer


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    if _libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero) != 0:
        raise _last_error("prctl")


@functools.cache
def _libc() -> ctypes.CDLL:
    # A new one for each of twenty calls takes longer than all that the kernel does.
    return ctypes.CDLL(None, use_errno=True)


def _last_error(said: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{said}: {os.strerror(number)}")
