"""A network namespace for the drill, with substitutes for other hosts.

The drill and the attacked sandbox live in this namespace. A sandbox that shares its host's network
would therefore reach the substitutes, and no sent byte can leave this machine: the namespace has no
other link.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import socket
import struct
from dataclasses import dataclass
from pathlib import Path

LAN, LAN6 = "10.213.7.10", "fd13:213:7::10"
METADATA = "169.254.169.254"
_PREFIX = {LAN: 24, METADATA: 32, LAN6: 64}
_KINDS = ("dummy", "veth", "bridge")

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_RTM_NEWLINK, _RTM_NEWADDR = 16, 20
ACKNOWLEDGE = 0x005  # NLM_F_REQUEST|ACK
CREATE = 0x605  # and NLM_F_CREATE|EXCL
_IFA_LOCAL, _IFA_ADDRESS, _IFA_FLAGS, _NODAD = 2, 1, 8, 2
_IFLA_NAME, _IFLA_INFO, _INFO_KIND = 3, 18, 1
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 1


@dataclass(frozen=True, slots=True)
class Netspace:
    """The addresses of the substitutes; `ipv6` if this kernel has it."""

    interface: str
    ipv6: bool


def enter() -> Netspace:
    """Move this process, which must have one thread, into a new namespace with substitutes. Raises
    OSError if the kernel forbids it.
    """
    leave_the_network()
    # The substitutes listen on the real ports, which are below 1024.
    Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")
    return _furnish()


def leave_the_network() -> None:
    """Move this process, which must have one thread, into a namespace with only loopback. Raises
    OSError if the kernel forbids it.
    """
    uid, gid = os.geteuid(), os.getegid()
    user_flag = 0 if uid == 0 else _CLONE_NEWUSER
    if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_NEWNET | user_flag):
        number = ctypes.get_errno()
        raise OSError(number, f"unshare: {os.strerror(number)}")
    if user_flag:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
        Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    _up("lo")


def _furnish() -> Netspace:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
        interface = next((kind for kind in _KINDS if _make_link(route, kind)), None)
        name = "lo" if interface is None else "lan0"
        _up(name)
        index = socket.if_nametoindex(name)
        _add(route, index, LAN)
        _add(route, index, METADATA)
        try:
            _add(route, index, LAN6)
        except OSError:
            return Netspace(name, False)
    return Netspace(name, True)


def _make_link(route: socket.socket, kind: str) -> bool:
    """Try to make an interface `lan0` of this kind; False if the kernel has no such kind."""
    info = attribute(_INFO_KIND, kind.encode())
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0)
    body += attribute(_IFLA_NAME, b"lan0\0") + attribute(_IFLA_INFO, info)
    try:
        ask(route, _RTM_NEWLINK, body)
    except OSError:
        return False
    return True


def _add(route: socket.socket, index: int, address: str) -> None:
    packed = ipaddress.ip_address(address).packed
    family = socket.AF_INET if len(packed) == 4 else socket.AF_INET6
    body = struct.pack("=BBBBI", family, _PREFIX[address], 0, 0, index)
    body += attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed)
    body += attribute(_IFA_FLAGS, struct.pack("=I", _NODAD)) if len(packed) == 16 else b""
    ask(route, _RTM_NEWADDR, body)


def ask(route: socket.socket, word: int, body: bytes, flags: int = CREATE) -> None:
    """Send one request of rtnetlink(7) and read its acknowledgement. Raises OSError."""
    route.send(struct.pack("=IHHII", 16 + len(body), word, flags, 1, 0) + body)
    (error,) = struct.unpack_from("=i", route.recv(4096), 16)
    if error:
        raise OSError(-error, os.strerror(-error))


def attribute(kind: int, data: bytes) -> bytes:
    """An attribute of such a request."""
    return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)


def _up(name: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("=16sH14x", name.encode(), 0)
        answer = fcntl.ioctl(any_socket, _SIOCGIFFLAGS, request)
        (flags,) = struct.unpack_from("=H", answer, 16)
        up = struct.pack("=16sH14x", name.encode(), flags | _UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, up)
