"""What code may pass to `fcntl`, `prctl`, `ioctl` and `setsockopt`: each value, with its reason.

These four calls lead to most of the kernel, so each value is named; any other is refused. Data for
`conditions.py`. The attacks `kernel/*_values` try the values beside these by enumeration.

A value is added here when a program needs it, and when nothing that it does is counted, seen or
felt outside of one sandbox. Left out by that rule, among others:

- fcntl: leases (F_SETLEASE stops others who open the file, for as long as
  /proc/sys/fs/lease-break-time says) and F_NOTIFY (reports what others do in a directory). Locks of
  an open file (36 to 38): others see them, and their owner is unknown. F_SETPIPE_SZ: pipe
  memory is counted for each user of the host. Seals belong to memfd, which there is not.
- prctl: filters, the memory map, who may trace, system call dispatch, core scheduling.
- ioctl: typing into a terminal, line disciplines, namespaces, drivers.
- setsockopt: filters (BPF), upper layer protocols (TCP_ULP loads a module), marks, priorities,
  multicast, memory that is pinned, and everything of protocols that a sandbox cannot have.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Allowed:
    """Values by the names that the kernel's headers give them, and what a program needs them for.
    `level` is a socket option's.
    """

    reason: str
    values: Mapping[str, int]
    level: int | None = None


def _allow(reason: str, level: int | None = None, /, **values: int) -> Allowed:
    return Allowed(reason, MappingProxyType(values), level)


# linux/fcntl.h, asm-generic/fcntl.h
FCNTL = (
    _allow("copy a descriptor", F_DUPFD=0, F_DUPFD_CLOEXEC=1030),
    _allow("whether it is inherited", F_GETFD=1, F_SETFD=2),
    _allow("whether it blocks or appends", F_GETFL=3, F_SETFL=4),
    _allow("locks of a process, which `agent/locks.py` counts", F_GETLK=5, F_SETLK=6, F_SETLKW=7),
    _allow("how much a pipe holds", F_GETPIPE_SZ=1032),
)

# linux/prctl.h
PRCTL = (
    _allow("to end with one's parent", PR_SET_PDEATHSIG=1, PR_GET_PDEATHSIG=2),
    _allow("whether others look in, and cores are made", PR_GET_DUMPABLE=3, PR_SET_DUMPABLE=4),
    _allow("programs that drop root; there is none here", PR_GET_KEEPCAPS=7, PR_SET_KEEPCAPS=8),
    _allow("the one way of timing that there is", PR_GET_TIMING=13, PR_SET_TIMING=14),
    _allow("a thread's name", PR_SET_NAME=15, PR_GET_NAME=16),
    _allow("to ask what is in force", PR_GET_SECCOMP=21, PR_CAPBSET_READ=23, PR_GET_SECUREBITS=27),
    _allow("to give up what one has not", PR_CAPBSET_DROP=24, PR_CAP_AMBIENT=47),
    _allow("to gain nothing by a program", PR_SET_NO_NEW_PRIVS=38, PR_GET_NO_NEW_PRIVS=39),
    _allow("how exact one's sleep is", PR_SET_TIMERSLACK=29, PR_GET_TIMERSLACK=30),
    _allow(
        "a supervisor reaps the orphans below it",
        PR_SET_CHILD_SUBREAPER=36,
        PR_GET_CHILD_SUBREAPER=37,
    ),
    _allow("threads' own bookkeeping, CRIU", PR_GET_TID_ADDRESS=40),
    _allow("one's own pages are small", PR_SET_THP_DISABLE=41, PR_GET_THP_DISABLE=42),
    _allow("ARM: the length of vectors", PR_SVE_SET_VL=50, PR_SVE_GET_VL=51),
    _allow("ARM: the same of streaming ones", PR_SME_SET_VL=63, PR_SME_GET_VL=64),
    _allow(
        "ARM: keys that sign pointers",
        PR_PAC_RESET_KEYS=54,
        PR_PAC_SET_ENABLED_KEYS=60,
        PR_PAC_GET_ENABLED_KEYS=61,
    ),
    _allow("ARM: tags of pointers", PR_SET_TAGGED_ADDR_CTRL=55, PR_GET_TAGGED_ADDR_CTRL=56),
    _allow("hardening against speculation", PR_GET_SPECULATION_CTRL=52, PR_SET_SPECULATION_CTRL=53),
    _allow("hardening: write or execute, not both", PR_SET_MDWE=65, PR_GET_MDWE=66),
    _allow("names of one's own memory, for people", PR_SET_VMA=0x5356_4D41),
    _allow("the C library's start", PR_GET_AUXV=0x4155_5856),
)

# asm-generic/ioctls.h, linux/sockios.h, linux/fs.h
IOCTL = (
    _allow("a terminal's settings", TCGETS=0x5401, TCSETS=0x5402, TCSETSW=0x5403, TCSETSF=0x5404),
    _allow(
        "the same, of newer C libraries",
        TCGETS2=0x802C_542A,
        TCSETS2=0x402C_542B,
        TCSETSW2=0x402C_542C,
        TCSETSF2=0x402C_542D,
    ),
    _allow("a terminal's flow", TCSBRK=0x5409, TCXONC=0x540A, TCFLSH=0x540B),
    _allow(
        "a session's terminal and its jobs",
        TIOCSCTTY=0x540E,
        TIOCGPGRP=0x540F,
        TIOCSPGRP=0x5410,
        TIOCNOTTY=0x5422,
        TIOCGSID=0x5429,
    ),
    _allow("a terminal's size", TIOCGWINSZ=0x5413, TIOCSWINSZ=0x5414),
    _allow(
        "to open a pseudo-terminal, of one's own devpts",
        TIOCGPTN=0x8004_5430,
        TIOCSPTLCK=0x4004_5431,
        TIOCGPTPEER=0x5441,
    ),
    _allow(
        "how much waits to be read or sent", TIOCOUTQ=0x5411, FIONREAD=0x541B, SIOCATMARK=0x8905
    ),
    _allow(
        "whether a descriptor blocks, is inherited", FIONBIO=0x5421, FIONCLEX=0x5450, FIOCLEX=0x5451
    ),
    _allow(
        "to ask about interfaces, which are loopback",
        SIOCGIFNAME=0x8910,
        SIOCGIFCONF=0x8912,
        SIOCGIFFLAGS=0x8913,
        SIOCGIFADDR=0x8915,
        SIOCGIFBRDADDR=0x8919,
        SIOCGIFNETMASK=0x891B,
        SIOCGIFMTU=0x8921,
        SIOCGIFHWADDR=0x8927,
        SIOCGIFINDEX=0x8933,
    ),
    _allow("cp tries to share a file's blocks", FICLONE=0x4004_9409),
    _allow("mv and find ask a file's flags", FS_IOC_GETFLAGS=0x8008_6601),
)

# asm-generic/socket.h, linux/in.h, linux/in6.h, linux/tcp.h
SETSOCKOPT = (
    _allow("to bind a port again", socket.SOL_SOCKET, SO_REUSEADDR=2, SO_REUSEPORT=15),
    _allow("to notice a peer that has gone", socket.SOL_SOCKET, SO_KEEPALIVE=9, SO_LINGER=13),
    _allow(
        "how long one waits",
        socket.SOL_SOCKET,
        SO_RCVTIMEO=20,
        SO_SNDTIMEO=21,
        SO_RCVTIMEO_NEW=66,
        SO_SNDTIMEO_NEW=67,
    ),
    _allow(
        "for how much one waits, urgent data", socket.SOL_SOCKET, SO_RCVLOWAT=18, SO_OOBINLINE=10
    ),
    _allow("who writes, on a socket of one's own", socket.SOL_SOCKET, SO_PASSCRED=16),
    _allow("servers ask for it; loopback has none", socket.SOL_SOCKET, SO_BROADCAST=6),
    _allow("SSH and HTTP clients set them", socket.IPPROTO_IP, IP_TOS=1, IP_TTL=2),
    _allow("the C library, asking for names", socket.IPPROTO_IP, IP_RECVERR=11),
    _allow("a server of both families", socket.IPPROTO_IPV6, IPV6_V6ONLY=26),
    _allow("as of version 4", socket.IPPROTO_IPV6, IPV6_RECVERR=25, IPV6_TCLASS=67),
    _allow("when small pieces are sent", socket.IPPROTO_TCP, TCP_NODELAY=1, TCP_CORK=3),
    _allow(
        "to notice a peer that has gone, by TCP",
        socket.IPPROTO_TCP,
        TCP_KEEPIDLE=4,
        TCP_KEEPINTVL=5,
        TCP_KEEPCNT=6,
        TCP_USER_TIMEOUT=18,
    ),
    _allow("when what has come is acknowledged", socket.IPPROTO_TCP, TCP_QUICKACK=12),
)

IGNORED_SETSOCKOPT = _allow(
    "A socket's buffers keep their size, which is counted for it: they are no process's memory. To "
    "ask for more is a wish, and programs expect no refusal: it is answered as if done",
    socket.SOL_SOCKET,
    SO_SNDBUF=7,
    SO_RCVBUF=8,
)


def numbers(table: tuple[Allowed, ...]) -> tuple[int, ...]:
    """All values of a table, ascending."""
    return tuple(sorted(value for each in table for value in each.values.values()))


def options() -> Mapping[int, tuple[int, ...]]:
    """The socket options that are passed on, by level."""
    levels = sorted({each.level for each in SETSOCKOPT if each.level is not None})
    return {
        level: numbers(tuple(each for each in SETSOCKOPT if each.level == level))
        for level in levels
    }
