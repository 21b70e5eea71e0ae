"""Changes its network: an address, a route, a new link, the state of a link (rtnetlink, ioctl)."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import fcntl
    import socket
    import struct

    def attribute(kind: int, data: bytes) -> bytes:
        return struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)

    def ask(word: int, flags: int, body: bytes) -> bool:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as route:
            route.settimeout(2)
            head = struct.pack("=IHHII", 16 + len(body), word, flags, 1, 0)
            route.send(head + body)
            kind, _, _, _, error = struct.unpack_from("=HHIIi", route.recv(4096), 4)
            return (kind, error) == (2, 0)

    acknowledge, create = 0x005, 0x605
    place = socket.inet_aton("198.51.100.1")  # a block for documentation
    lo = socket.if_nametoindex("lo")
    two = attribute(1, place) + attribute(2, place)
    ways = {
        "an address": (20, struct.pack("=BBBBI", 2, 32, 0, 0, lo) + two),
        "a route": (
            24,
            struct.pack("=8BI", 2, 32, 0, 0, 254, 4, 253, 1, 0)
            + attribute(1, place)
            + attribute(4, struct.pack("=i", lo)),
        ),
        "a link": (
            16,
            struct.pack("=BxHiII", 0, 0, 0, 0, 0)
            + attribute(3, b"out0\0")
            + attribute(18, attribute(1, b"dummy")),
        ),
    }
    passed = []
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
            state = fcntl.ioctl(loose, 0x8913, struct.pack("=16sH14x", b"lo", 0))  # asks the flags
            up = struct.unpack_from("=H", state, 16)[0] | 1
            fcntl.ioctl(loose, 0x8914, struct.pack("=16sH14x", b"lo", up))
            passed.append("a link's state")
    except OSError:
        pass
    for name, (word, body) in ways.items():
        try:
            if ask(word, create, body):
                passed.append(name)
                ask(word + 1, acknowledge, body)  # takes it away again
        except OSError:
            continue
    return f"it could set {', '.join(passed)}" if passed else None


ATTACK = Attack(
    probe,
    expects="its network can be looked at, and not changed",
    control=Bare(root=True, within=("--net",)),
)
