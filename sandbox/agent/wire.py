"""Frames on the control socket: a header's length (4 bytes, big-endian), the header, the blobs.

A header is UTF-8 text with one `key value` pair on each line. The value of a line that announces a
blob begins with the size of the blob; the blobs follow in the order of their lines. No value
contains a newline. `sandbox/backend.py` is the host's side; `sandbox/order.py` and
`sandbox/result.py` define the lines.
"""

from __future__ import annotations

import os

READY = b"R"
"""The first message of an agent: it waits for its order."""
BROKEN = b"!"
"""The first message of an agent that cannot start; the reason follows."""
LIVE = "live"
"""The only line of a header before the answer: `live SIZE`, with the end of the output so far."""
LIVE_BYTES = 3 << 10
"""The most of such a blob. With its header it fits into one write (PIPE_BUF)."""
LIVE_SECONDS = 0.25
"""The shortest time between two of them."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def receive_lines(control: int) -> list[tuple[str, str]]:
    """Receive a header, as keys and values. Raises EOFError if the host has closed the socket."""
    return parse_lines(receive_sized(control).decode())


def parse_lines(text: str) -> list[tuple[str, str]]:
    """The lines of a header, as keys and values."""
    pairs = (line.partition(" ") for line in text.split("\n"))
    return [(key, value) for key, _, value in pairs]


def receive_sized(control: int) -> bytes:
    """Receive the data of one `write_sized`. Raises EOFError if the sender has ended."""
    return receive_bytes(control, int.from_bytes(receive_bytes(control, 4), "big"))


def receive_bytes(control: int, size: int) -> bytes:
    """Receive exactly `size` bytes. Raises EOFError if the sender has closed the socket."""
    data = bytearray()
    while len(data) < size:
        part = os.read(control, min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def send_frame(control: int, header: Iterable[str], blobs: Iterable[bytes]) -> None:
    """Send the lines of a header, and the blobs that they announce."""
    write_sized(control, "\n".join(header).encode())
    for blob in blobs:
        write_all(control, blob)


def send_descriptor(fd: int, data: bytes, descriptor: int) -> None:
    """Send a few bytes and a descriptor over the socket `fd`; closes the descriptor here."""
    import socket  # noqa: PLC0415  (slow to import, and few agents need it)

    try:
        with socket.socket(fileno=os.dup(fd)) as out:
            socket.send_fds(out, [data], [descriptor])
    finally:
        os.close(descriptor)


def write_sized(fd: int, data: bytes) -> None:
    """Write the length of `data` in 4 bytes, then `data`."""
    write_all(fd, len(data).to_bytes(4, "big") + data)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data` to a blocking descriptor."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
