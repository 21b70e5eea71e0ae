"""The system call filter of a room, assembled to classic BPF for `bwrap --seccomp`. Pure.

Allowed unless refused here. What is refused, and why, stands in `syscalls.py`; what is decided by
arguments stands in this file. A call by another architecture's or x32's numbers kills the process.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

from sandbox import syscalls

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16
_X32 = 0x40000000

# linux/sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_NAMESPACES = 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_NETLINK_ROUTE = 0  # what getaddrinfo and if_nameindex ask
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C  # typing into a terminal


@dataclass(frozen=True, slots=True)
class _Line:
    """One instruction; `yes` and `no` are how many lines to leap over."""

    code: int
    value: int
    yes: int = 0
    no: int = 0


def program(machine: str) -> bytes:
    """The filter for `machine` (`uname -m`): an array of `struct sock_filter`, little-endian.

    Raises ValueError for an architecture whose numbers are not known here.
    """
    if machine not in _ARCH:
        raise ValueError(f"no system call filter for {machine}: have {', '.join(_ARCH)}")
    lines = [_load(_AT_ARCH), _Line(_JUMP_EQUAL, _ARCH[machine], yes=1), _verdict(_KILL)]
    lines += [_load(_AT_NUMBER)]
    if machine == "x86_64":
        lines += [_Line(_JUMP_AT_LEAST, _X32, no=1), _verdict(_KILL)]
    lines += [_Line(_JUMP_AT_LEAST, syscalls.NEWEST + 1, no=1), _refuse(errno.ENOSYS)]
    for number in syscalls.absent(machine).values():
        lines += [_Line(_JUMP_EQUAL, number, no=1), _refuse(errno.ENOSYS)]
    for number in syscalls.forbidden(machine).values():
        lines += [_Line(_JUMP_EQUAL, number, no=1), _refuse(errno.EPERM)]
    for name, number in syscalls.judged(machine).items():
        block = _JUDGES[name]
        lines += [_Line(_JUMP_EQUAL, number, no=len(block)), *block]
    lines += [_verdict(_ALLOW)]
    return b"".join(struct.pack("<HBBI", it.code, it.yes, it.no, it.value) for it in lines)


def _load(offset: int) -> _Line:
    return _Line(_LOAD, offset)


def _argument(index: int) -> _Line:
    """The low half of an argument; each that is judged here is an int to the kernel."""
    return _load(_AT_ARGUMENTS + 8 * index)


def _verdict(value: int) -> _Line:
    return _Line(_RETURN, value)


def _refuse(number: int) -> _Line:
    return _verdict(_ERRNO | number)


def _socket() -> tuple[_Line, ...]:
    # Loopback needs the internet families; the rest (vsock, AF_ALG, packet, ...) only the kernel's
    # attackers do. Netlink is for asking routes and nothing else.
    return (
        _argument(0),
        _Line(_JUMP_EQUAL, _UNIX, yes=7),
        _Line(_JUMP_EQUAL, _INET, yes=6),
        _Line(_JUMP_EQUAL, _INET6, yes=5),
        _Line(_JUMP_EQUAL, _NETLINK, yes=1),
        _refuse(errno.EAFNOSUPPORT),
        _argument(2),
        _Line(_JUMP_EQUAL, _NETLINK_ROUTE, yes=1),
        _refuse(errno.EAFNOSUPPORT),
        _verdict(_ALLOW),
    )


_JUDGES: dict[str, tuple[_Line, ...]] = {
    "clone": (
        _argument(0),
        _Line(_JUMP_ANY_BIT, _NAMESPACES, no=1),
        _refuse(errno.EPERM),
        _verdict(_ALLOW),
    ),
    "socket": _socket(),
    "socketpair": _socket(),
    "ioctl": (
        _argument(1),
        _Line(_JUMP_EQUAL, _TIOCSTI, yes=1),
        _Line(_JUMP_EQUAL, _TIOCLINUX, no=1),
        _refuse(errno.EPERM),
        _verdict(_ALLOW),
    ),
}
