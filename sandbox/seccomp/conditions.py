"""Conditions on the arguments of system calls. Data for both forms of the filter (`filters.py`).

A condition has several alternatives; each alternative is a list of tests of arguments against
values. Both forms of the filter can express this. A call is allowed if all tests of one alternative
hold; otherwise it is refused with the condition's error.
"""

from __future__ import annotations

import errno
import itertools
import socket
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sandbox.seccomp.allowed_arguments import (
    FCNTL,
    IGNORED_SETSOCKOPT,
    IOCTL,
    PRCTL,
    socket_options,
    sorted_values,
)

_INT = 0xFFFF_FFFF
_POINTER = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class ArgumentTest:
    """Tests whether argument `index`, under `mask`, is one of `values`. The kernel uses only the
    low half of an int.
    """

    index: int
    values: tuple[int, ...]
    mask: int = _INT
    unlike: bool = False
    """The test holds if the argument differs from the only one of `values`."""

    def with_single_values(self) -> list[ArgumentTest]:
        """Equivalent alternatives with one value each, because an engine's profile has only a
        comparison with one value. A number that is unlike another differs from it in some bit.
        """
        if not self.unlike:
            return [ArgumentTest(self.index, (value,), self.mask) for value in self.values]
        (value,) = self.values
        bits = (1 << position for position in range(self.mask.bit_length()))
        return [ArgumentTest(self.index, (~value & bit,), bit) for bit in bits if self.mask & bit]


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition under which a system call is allowed."""

    error: int
    """The error of a refused call."""
    alternatives: tuple[tuple[ArgumentTest, ...], ...]
    """The call is allowed if all tests of one alternative hold."""
    ignored: tuple[ArgumentTest, ...] = ()
    """If all these tests hold, the call returns success, but has no effect."""

    def alternatives_with_single_values(self) -> Iterator[tuple[ArgumentTest, ...]]:
        """Equivalent alternatives in which each test has one value."""
        for alternative in self.alternatives:
            yield from itertools.product(*(test.with_single_values() for test in alternative))


# linux/sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (clone has no NEWTIME.)
_NAMESPACES = 0x7E02_0000
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x1_0000

_TYPE = 0xF  # without SOCK_CLOEXEC and SOCK_NONBLOCK
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_NETLINK_ROUTE = 0  # getaddrinfo and if_nameindex use it

_MAP_HUGETLB = 0x4_0000  # asm-generic/mman-common.h

# linux/resource.h, linux/ioprio.h
_PRIO_PROCESS, _IOPRIO_WHO_PROCESS = 0, 1

_AGENT = 1
"""The sandbox's agent is its first process on both backends, and has the code's uid."""
_PIDS = 0x3F_FFFF  # below PID_MAX_LIMIT, linux/threads.h


def _not_the_agent(index: int) -> ArgumentTest:
    """The argument is the pid of any process of the sandbox except the agent."""
    return ArgumentTest(index, (_AGENT,), _PIDS, unlike=True)


# A process that controls the agent's scheduling could keep the agent from enforcing the deadline.
# So these calls accept any process of the code, but no user and no process group, which may include
# the agent.
_SCHEDULING = Condition(errno.EPERM, ((_not_the_agent(0),),))

CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        # Threads and processes, but no namespace. Only threads may share a table of open files: if
        # processes shared one, a lock could outlive the process that set it, and the agent would
        # not count it (`resource_monitor`).
        "clone": Condition(
            errno.EPERM,
            (
                (ArgumentTest(0, (0,), _NAMESPACES | _CLONE_FILES),),
                (ArgumentTest(0, (_CLONE_THREAD,), _NAMESPACES | _CLONE_THREAD),),
            ),
        ),
        # `allowed_arguments.py` names each value that these four calls may take.
        "fcntl": Condition(errno.EINVAL, ((ArgumentTest(1, sorted_values(FCNTL)),),)),
        "ioctl": Condition(errno.ENOTTY, ((ArgumentTest(1, sorted_values(IOCTL)),),)),
        "prctl": Condition(errno.EINVAL, ((ArgumentTest(0, sorted_values(PRCTL)),),)),
        "setsockopt": Condition(
            errno.ENOPROTOOPT,
            tuple(
                (ArgumentTest(1, (level,)), ArgumentTest(2, options))
                for level, options in socket_options().items()
            ),
            ignored=(
                ArgumentTest(1, (socket.SOL_SOCKET,)),
                ArgumentTest(2, sorted_values((IGNORED_SETSOCKOPT,))),
            ),
        ),
        # Files, FIFOs, sockets. The kernel would let any user make one device node (0, 0).
        "mknod": Condition(
            errno.EPERM,
            ((ArgumentTest(1, (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK), 0xF000),),),
        ),
        "mknodat": Condition(
            errno.EPERM,
            ((ArgumentTest(2, (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK), 0xF000),),),
        ),
        # No pages of a machine's pool of huge pages: they are charged to no process.
        "mmap": Condition(errno.ENOMEM, ((ArgumentTest(3, (0,), _MAP_HUGETLB),),)),
        # To read it, or to set its current value.
        "personality": Condition(errno.EPERM, ((ArgumentTest(0, (0, _INT)),),)),
        "ioprio_set": Condition(
            errno.EPERM, ((ArgumentTest(0, (_IOPRIO_WHO_PROCESS,)), _not_the_agent(1)),)
        ),
        # To set the calling process's limits, or to read any: the agent has the code's uid.
        "prlimit64": Condition(
            errno.EPERM, ((ArgumentTest(0, (0,)),), (ArgumentTest(2, (0,), _POINTER),))
        ),
        "sched_setaffinity": _SCHEDULING,
        "sched_setattr": _SCHEDULING,
        "sched_setparam": _SCHEDULING,
        "sched_setscheduler": _SCHEDULING,
        "setpriority": Condition(
            errno.EPERM, ((ArgumentTest(0, (_PRIO_PROCESS,)), _not_the_agent(1)),)
        ),
        # TCP and UDP work on loopback. In a sandbox, only attacks on the kernel need the other
        # families and protocols (vsock, AF_ALG, packet, raw, SCTP, ...), and to open such a socket
        # loads a kernel module.
        "socket": Condition(
            errno.EAFNOSUPPORT,
            (
                (ArgumentTest(0, (socket.AF_UNIX,)),),
                (
                    ArgumentTest(0, _INTERNET),
                    ArgumentTest(1, (socket.SOCK_STREAM,), _TYPE),
                    ArgumentTest(2, (0, socket.IPPROTO_TCP)),
                ),
                (
                    ArgumentTest(0, _INTERNET),
                    ArgumentTest(1, (socket.SOCK_DGRAM,), _TYPE),
                    ArgumentTest(2, (0, socket.IPPROTO_UDP)),
                ),
                (ArgumentTest(0, (socket.AF_NETLINK,)), ArgumentTest(2, (_NETLINK_ROUTE,))),
            ),
        ),
        "socketpair": Condition(errno.EAFNOSUPPORT, ((ArgumentTest(0, (socket.AF_UNIX,)),),)),
    }
)
