"""The values that code may pass to `fcntl`, `prctl`, `ioctl` and `setsockopt`, with their reasons.

These four calls lead to most of the kernel, so each value is named, and any other value is refused.
Data for `conditions.py`. The attacks `kernel/*_values` try all other values.

A value is added here if a program needs it, and if its effects are not counted or visible outside
of one sandbox. This rule excludes, for example:

- fcntl: leases (F_SETLEASE stops other processes that open the file, for the seconds of
  /proc/sys/fs/lease-break-time) and F_NOTIFY (reports changes of other processes in a directory).
  Locks of an open file (36 to 38): other sandboxes see them, and their owner is unknown.
  F_SETPIPE_SZ: pipe memory is counted for each user of the host. Seals need memfd, which is absent.
- prctl: filters, the memory map, permission to trace, system call dispatch, core scheduling.
- ioctl: typing into a terminal, line disciplines, namespaces, drivers.
- setsockopt: filters (BPF), upper layer protocols (TCP_ULP loads a module), marks, priorities,
  multicast, pinned memory, and all options of protocols that a sandbox cannot use.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """Values of one argument that serve the same purpose."""

    reason: str
    """Why programs need them."""
    values: Mapping[str, int]
    """By their names in the kernel's headers."""
    level: int | None = None
    """The level of socket options."""


def _allow(reason: str, level: int | None = None, /, **values: int) -> AllowedValues:
    return AllowedValues(reason, MappingProxyType(values), level)


# linux/fcntl.h, asm-generic/fcntl.h
FCNTL = (
    _allow("copy a descriptor", F_DUPFD=0, F_DUPFD_CLOEXEC=1030),
    _allow("whether it is inherited", F_GETFD=1, F_SETFD=2),
    _allow("whether it blocks or appends", F_GETFL=3, F_SETFL=4),
    _allow("locks of a process, which the agent counts", F_GETLK=5, F_SETLK=6, F_SETLKW=7),
    _allow("how much a pipe holds", F_GETPIPE_SZ=1032),
)

# linux/prctl.h
PRCTL = (
    _allow("to end with the parent process", PR_SET_PDEATHSIG=1, PR_GET_PDEATHSIG=2),
    _allow("to forbid tracing and core dumps", PR_GET_DUMPABLE=3, PR_SET_DUMPABLE=4),
    _allow("programs that drop root call it", PR_GET_KEEPCAPS=7, PR_SET_KEEPCAPS=8),
    _allow("the only method of timing", PR_GET_TIMING=13, PR_SET_TIMING=14),
    _allow("a thread's name", PR_SET_NAME=15, PR_GET_NAME=16),
    _allow("to read restrictions", PR_GET_SECCOMP=21, PR_CAPBSET_READ=23, PR_GET_SECUREBITS=27),
    _allow("to drop capabilities; code has none", PR_CAPBSET_DROP=24, PR_CAP_AMBIENT=47),
    _allow("to gain no privilege by exec", PR_SET_NO_NEW_PRIVS=38, PR_GET_NO_NEW_PRIVS=39),
    _allow("the precision of sleep", PR_SET_TIMERSLACK=29, PR_GET_TIMERSLACK=30),
    _allow(
        "a supervisor reaps the orphans below it",
        PR_SET_CHILD_SUBREAPER=36,
        PR_GET_CHILD_SUBREAPER=37,
    ),
    _allow("bookkeeping of threads, CRIU", PR_GET_TID_ADDRESS=40),
    _allow("to avoid large pages", PR_SET_THP_DISABLE=41, PR_GET_THP_DISABLE=42),
    _allow("ARM: the length of vectors", PR_SVE_SET_VL=50, PR_SVE_GET_VL=51),
    _allow("ARM: the length of streaming vectors", PR_SME_SET_VL=63, PR_SME_GET_VL=64),
    _allow(
        "ARM: keys that sign pointers",
        PR_PAC_RESET_KEYS=54,
        PR_PAC_SET_ENABLED_KEYS=60,
        PR_PAC_GET_ENABLED_KEYS=61,
    ),
    _allow("ARM: tags of pointers", PR_SET_TAGGED_ADDR_CTRL=55, PR_GET_TAGGED_ADDR_CTRL=56),
    _allow("hardening against speculation", PR_GET_SPECULATION_CTRL=52, PR_SET_SPECULATION_CTRL=53),
    _allow("hardening: write or execute, not both", PR_SET_MDWE=65, PR_GET_MDWE=66),
    _allow("names of a process's own memory", PR_SET_VMA=0x5356_4D41),
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
        "to open a pseudo-terminal of the sandbox's own devpts",
        TIOCGPTN=0x8004_5430,
        TIOCSPTLCK=0x4004_5431,
        TIOCGPTPEER=0x5441,
    ),
    _allow(
        "the amount of unread or unsent data", TIOCOUTQ=0x5411, FIONREAD=0x541B, SIOCATMARK=0x8905
    ),
    _allow(
        "whether a descriptor blocks, is inherited", FIONBIO=0x5421, FIONCLEX=0x5450, FIOCLEX=0x5451
    ),
    _allow(
        "to read facts about interfaces; there is only loopback",
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
    _allow("mv and find read a file's flags", FS_IOC_GETFLAGS=0x8008_6601),
)

# asm-generic/socket.h, linux/in.h, linux/in6.h, linux/tcp.h
SETSOCKOPT = (
    _allow("to bind a port again", socket.SOL_SOCKET, SO_REUSEADDR=2, SO_REUSEPORT=15),
    _allow("to notice the end of the peer", socket.SOL_SOCKET, SO_KEEPALIVE=9, SO_LINGER=13),
    _allow(
        "timeouts",
        socket.SOL_SOCKET,
        SO_RCVTIMEO=20,
        SO_SNDTIMEO=21,
        SO_RCVTIMEO_NEW=66,
        SO_SNDTIMEO_NEW=67,
    ),
    _allow(
        "the least data to wait for, urgent data",
        socket.SOL_SOCKET,
        SO_RCVLOWAT=18,
        SO_OOBINLINE=10,
    ),
    _allow("the writer's pid and uid, on Unix sockets", socket.SOL_SOCKET, SO_PASSCRED=16),
    _allow("servers set it; loopback has no broadcast", socket.SOL_SOCKET, SO_BROADCAST=6),
    _allow("SSH and HTTP clients set them", socket.IPPROTO_IP, IP_TOS=1, IP_TTL=2),
    _allow("the C library resolves names with it", socket.IPPROTO_IP, IP_RECVERR=11),
    _allow("a server of both families", socket.IPPROTO_IPV6, IPV6_V6ONLY=26),
    _allow("the same as for IPv4", socket.IPPROTO_IPV6, IPV6_RECVERR=25, IPV6_TCLASS=67),
    _allow("when small segments are sent", socket.IPPROTO_TCP, TCP_NODELAY=1, TCP_CORK=3),
    _allow(
        "to notice the end of the peer, by TCP",
        socket.IPPROTO_TCP,
        TCP_KEEPIDLE=4,
        TCP_KEEPINTVL=5,
        TCP_KEEPCNT=6,
        TCP_USER_TIMEOUT=18,
    ),
    _allow("when received data is acknowledged", socket.IPPROTO_TCP, TCP_QUICKACK=12),
)

IGNORED_SETSOCKOPT = _allow(
    "A socket's buffers keep their size, because they are charged to no process, and the resource "
    "monitor assumes a maximum. Programs expect no error, so the call returns success",
    socket.SOL_SOCKET,
    SO_SNDBUF=7,
    SO_RCVBUF=8,
)


def sorted_values(table: tuple[AllowedValues, ...]) -> tuple[int, ...]:
    """All values of a table, ascending."""
    return tuple(sorted(value for row in table for value in row.values.values()))


def socket_options() -> Mapping[int, tuple[int, ...]]:
    """The allowed socket options, by level."""
    levels = sorted({row.level for row in SETSOCKOPT if row.level is not None})
    return {
        level: sorted_values(tuple(row for row in SETSOCKOPT if row.level == level))
        for level in levels
    }
