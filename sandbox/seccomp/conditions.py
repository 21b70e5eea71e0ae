"""System calls that a sandbox gets by their arguments: which it may pass. Data, for two readers.

`seccomp.py` makes a filter of it, and the Docker backend a profile; so a condition is what both can
say: one of several alternatives holds, each a list of arguments that are among some values. All is
stated as what is allowed; the rest is refused with the condition's error.
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
    numbers,
    options,
)

_INT = 0xFFFF_FFFF
_POINTER = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class Where:
    """Argument `index`, under `mask`, is among `values`; or, `unlike`, is not the only one of them.
    The kernel takes an int's low half.
    """

    index: int
    values: tuple[int, ...]
    mask: int = _INT
    unlike: bool = False

    def single(self) -> list[Where]:
        """Alternatives that say the same with one value each, for a reader who can do no more than
        compare: what is unlike a number differs from it in some bit.
        """
        if not self.unlike:
            return [Where(self.index, (value,), self.mask) for value in self.values]
        (value,) = self.values
        bits = (1 << place for place in range(self.mask.bit_length()))
        return [Where(self.index, (~value & bit,), bit) for bit in bits if self.mask & bit]


@dataclass(frozen=True, slots=True)
class Condition:
    """Allowed when all of one alternative holds; else answered as if done, and not done, when all
    of `ignored` holds; else refused with `error`.
    """

    error: int
    alternatives: tuple[tuple[Where, ...], ...]
    ignored: tuple[Where, ...] = ()

    def single(self) -> Iterator[tuple[Where, ...]]:
        """The same with one value a place, for a reader who has no sets."""
        for alternative in self.alternatives:
            yield from itertools.product(*(where.single() for where in alternative))


# linux/sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (clone has no NEWTIME.)
_NAMESPACES = 0x7E02_0000
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x1_0000

_TYPE = 0xF  # without SOCK_CLOEXEC and SOCK_NONBLOCK
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_NETLINK_ROUTE = 0  # what getaddrinfo and if_nameindex ask

_MAP_HUGETLB = 0x4_0000  # asm-generic/mman-common.h

# linux/resource.h, linux/ioprio.h
_PRIO_PROCESS, _IOPRIO_WHO_PROCESS = 0, 1

_AGENT = 1
"""The sandbox's agent is its first process on both backends, and has the code's uid."""
_PIDS = 0x3F_FFFF  # below PID_MAX_LIMIT, linux/threads.h


def _not_the_agent(index: int) -> Where:
    """That argument is a pid: anybody's of the sandbox but the agent's."""
    return Where(index, (_AGENT,), _PIDS, unlike=True)


# A process that controls when the agent runs, and how much, decides whether it keeps the deadline.
# So these take any process of the code's own; no user and no process group, which the agent may be
# one of.
_SCHEDULING = Condition(errno.EPERM, ((_not_the_agent(0),),))

CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        # Threads and processes, but no namespace. Only threads share a table of open files: what a
        # process had locked in another's would outlive it, and be in nobody's count
        # (`lab/drills/attacks` tries it).
        "clone": Condition(
            errno.EPERM,
            (
                (Where(0, (0,), _NAMESPACES | _CLONE_FILES),),
                (Where(0, (_CLONE_THREAD,), _NAMESPACES | _CLONE_THREAD),),
            ),
        ),
        # What these four may be asked is named value by value: `allowed_arguments.py`.
        "fcntl": Condition(errno.EINVAL, ((Where(1, numbers(FCNTL)),),)),
        "ioctl": Condition(errno.ENOTTY, ((Where(1, numbers(IOCTL)),),)),
        "prctl": Condition(errno.EINVAL, ((Where(0, numbers(PRCTL)),),)),
        "setsockopt": Condition(
            errno.ENOPROTOOPT,
            tuple((Where(1, (level,)), Where(2, these)) for level, these in options().items()),
            ignored=(
                Where(1, (socket.SOL_SOCKET,)),
                Where(2, numbers((IGNORED_SETSOCKOPT,))),
            ),
        ),
        # Files, FIFOs, sockets; of device nodes the kernel would grant one (0, 0) to anybody.
        "mknod": Condition(
            errno.EPERM,
            ((Where(1, (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK), 0xF000),),),
        ),
        "mknodat": Condition(
            errno.EPERM,
            ((Where(2, (0, stat.S_IFREG, stat.S_IFIFO, stat.S_IFSOCK), 0xF000),),),
        ),
        # No pages of a machine's pool of huge ones: they are counted with nobody's memory.
        "mmap": Condition(errno.ENOMEM, ((Where(3, (0,), _MAP_HUGETLB),),)),
        # To be asked, or set to what it is.
        "personality": Condition(errno.EPERM, ((Where(0, (0, _INT)),),)),
        "ioprio_set": Condition(
            errno.EPERM, ((Where(0, (_IOPRIO_WHO_PROCESS,)), _not_the_agent(1)),)
        ),
        # A process's own limits, or to be asked: the agent has the code's uid.
        "prlimit64": Condition(errno.EPERM, ((Where(0, (0,)),), (Where(2, (0,), _POINTER),))),
        "sched_setaffinity": _SCHEDULING,
        "sched_setattr": _SCHEDULING,
        "sched_setparam": _SCHEDULING,
        "sched_setscheduler": _SCHEDULING,
        "setpriority": Condition(errno.EPERM, ((Where(0, (_PRIO_PROCESS,)), _not_the_agent(1)),)),
        # Loopback takes TCP and UDP. Other families and protocols (vsock, AF_ALG, packet, raw,
        # SCTP, ...) are only the kernel's attackers' in a sandbox, and asking for one loads a
        # module.
        "socket": Condition(
            errno.EAFNOSUPPORT,
            (
                (Where(0, (socket.AF_UNIX,)),),
                (
                    Where(0, _INTERNET),
                    Where(1, (socket.SOCK_STREAM,), _TYPE),
                    Where(2, (0, socket.IPPROTO_TCP)),
                ),
                (
                    Where(0, _INTERNET),
                    Where(1, (socket.SOCK_DGRAM,), _TYPE),
                    Where(2, (0, socket.IPPROTO_UDP)),
                ),
                (Where(0, (socket.AF_NETLINK,)), Where(2, (_NETLINK_ROUTE,))),
            ),
        ),
        "socketpair": Condition(errno.EAFNOSUPPORT, ((Where(0, (socket.AF_UNIX,)),),)),
    }
)
