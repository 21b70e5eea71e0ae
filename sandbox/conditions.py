"""System calls that a room gets by their arguments: which it may pass. Data, for two readers.

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

    def others(self) -> tuple[Where, Where]:
        """Alternatives that say the opposite of small `values`: another number of their size, or a
        greater one. One place each: an engine takes two of one argument as alternatives.
        """
        span = 1 << max(self.values).bit_length()
        small = tuple(each for each in range(span) if each not in self.values)
        return Where(self.index, small), Where(self.index, (0,), self.mask & -span, unlike=True)


@dataclass(frozen=True, slots=True)
class Condition:
    """Allowed when all of one alternative holds; else refused with `error`. Or, where that is 0,
    said to be done, and not done: when all of `ignored` holds, which is the opposite.
    """

    error: int
    alternatives: tuple[tuple[Where, ...], ...]
    ignored: tuple[Where, ...] = ()

    def single(self) -> Iterator[tuple[Where, ...]]:
        """The same with one value a place, for a reader who has no sets."""
        for alternative in self.alternatives:
            yield from itertools.product(*(where.single() for where in alternative))


def _ignored(*places: Where) -> Condition:
    """Said to be done, and not done, where all of this holds; else allowed."""
    return Condition(0, tuple((each,) for place in places for each in place.others()), places)


# linux/sched.h: NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. (clone has no NEWTIME.)
_NAMESPACES = 0x7E02_0000
_CLONE_FILES, _CLONE_THREAD = 0x400, 0x1_0000

_TYPE = 0xF  # without SOCK_CLOEXEC and SOCK_NONBLOCK
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_NETLINK_ROUTE = 0  # what getaddrinfo and if_nameindex ask

# asm-generic/ioctls.h, linux/sockios.h, linux/fs.h
_IOCTLS = (
    *(0x5401, 0x5402, 0x5403, 0x5404),  # TCGETS, TCSETS, TCSETSW, TCSETSF
    *(0x802C_542A, 0x402C_542B, 0x402C_542C, 0x402C_542D),  # the same, of newer C libraries
    *(0x5409, 0x540A, 0x540B),  # TCSBRK, TCXONC, TCFLSH
    *(0x540E, 0x540F, 0x5410, 0x5422, 0x5429),  # a session's terminal, its process groups
    *(0x5413, 0x5414),  # TIOCGWINSZ, TIOCSWINSZ
    *(0x8004_5430, 0x4004_5431, 0x5441),  # opening a pseudo-terminal
    *(0x5411, 0x541B, 0x8905),  # TIOCOUTQ, FIONREAD, SIOCATMARK
    *(0x5421, 0x5450, 0x5451, 0x5452),  # FIONBIO, FIONCLEX, FIOCLEX, FIOASYNC
    *(0x8910, 0x8912, 0x8913, 0x8915, 0x8919, 0x891B),  # asking an interface's name, list, flags,
    *(0x8921, 0x8927, 0x8933),  # addresses, mask, MTU and index
    *(0x4004_9409, 0x8008_6601),  # FICLONE, FS_IOC_GETFLAGS
)
"""Terminals (but not typing into them: TIOCSTI, TIOCLINUX; nor other line disciplines: TIOCSETD),
descriptors, and questions about interfaces. The drivers behind the rest are nobody's here."""

# linux/prctl.h
_PRCTLS = (
    *(1, 2, 3, 4),  # the parent's death signal; whether others may look into this process
    *(7, 8, 13, 14, 15, 16),  # keeping capabilities, timing, the thread's name
    *(21, 23, 24, 27, 38, 39, 47),  # what is in force: seccomp, capabilities; no_new_privs
    *(29, 30, 36, 37, 40, 41, 42),  # timer slack, reaping orphans, huge pages
    *(50, 51, 54, 55, 56, 60, 61, 63, 64),  # ARM's vectors, keys and tags
    *(52, 53, 65, 66),  # hardening: against speculation, against memory to write and execute
    *(0x5356_4D41, 0x4155_5856),  # naming memory for people, the auxiliary vector
)
"""Not PR_SET_SECCOMP, PR_SET_MM, PR_SET_PTRACER, system call dispatch, core scheduling."""

# asm-generic/socket.h
_SEND_BUFFER, _RECEIVE_BUFFER = 7, 8

_MAP_HUGETLB = 0x4_0000  # asm-generic/mman-common.h

# linux/resource.h, linux/ioprio.h
_PRIO_PROCESS, _IOPRIO_WHO_PROCESS = 0, 1

_AGENT = 1
"""The room's agent is its first process on both backends, and has the code's uid."""
_PIDS = 0x3F_FFFF  # below PID_MAX_LIMIT, linux/threads.h


def _not_the_agent(index: int) -> Where:
    """That argument is a pid: anybody's of the room but the agent's."""
    return Where(index, (_AGENT,), _PIDS, unlike=True)


# Whoever may say when the agent runs, and how much, decides whether it keeps the deadline. So these
# take any process of the code's own; no user and no process group, which the agent may be one of.
_SCHEDULING = Condition(errno.EPERM, ((_not_the_agent(0),),))

CONDITIONS: Mapping[str, Condition] = MappingProxyType(
    {
        # Threads and processes, but no namespace. Only threads share a table of open files: what a
        # process had locked in another's would outlive it, and be in nobody's count (`room/locks`).
        "clone": Condition(
            errno.EPERM,
            (
                (Where(0, (0,), _NAMESPACES | _CLONE_FILES),),
                (Where(0, (_CLONE_THREAD,), _NAMESPACES | _CLONE_THREAD),),
            ),
        ),
        # From F_DUPFD to F_GETOWNER_UIDS, from F_SETLEASE on; no locks of an open file (36 to 38),
        # which all rooms would see, and of which nobody could tell whose they are.
        "fcntl": Condition(
            errno.EINVAL,
            (
                (Where(1, (0,), _INT & ~0xF),),
                (Where(1, (16,), _INT & ~0x1),),
                (Where(1, (1024,), _INT & ~0xF),),
            ),
        ),
        "ioctl": Condition(errno.ENOTTY, ((Where(1, _IOCTLS),),)),
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
        "prctl": Condition(errno.EINVAL, ((Where(0, _PRCTLS),),)),
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
        # A socket's buffers stay as large as the kernel makes them, which is counted for it: they
        # are no process's memory, and a machine may allow megabytes for each. To ask for more has
        # ever been a wish, and programs do not expect to be refused.
        "setsockopt": _ignored(
            Where(1, (socket.SOL_SOCKET,)), Where(2, (_SEND_BUFFER, _RECEIVE_BUFFER))
        ),
        # Loopback takes TCP and UDP. Other families and protocols (vsock, AF_ALG, packet, raw,
        # SCTP, ...) are only the kernel's attackers' in a room, and asking for one loads a module.
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
