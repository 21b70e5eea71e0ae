"""Frames on the control socket: a header's length (4 bytes, big-endian), the header, the blobs.

A header is UTF-8 text, one `key value` a line; a line that announces a blob begins its value with
the blob's size, and blobs follow in that order. Nothing that a line holds contains a newline. The
host's side is `sandbox/backend.py`; `sandbox/order.py` and `sandbox/result.py` have the lines.
"""

from __future__ import annotations

import os

READY = b"R"
"""What an agent says first, before its order."""
BROKEN = b"!"
"""What it says in place of that, and then why."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def receive_lines(control: int) -> list[tuple[str, str]]:
    """The next header, as keys and values. Raises EOFError where the host has gone."""
    return lines(receive_sized(control).decode())


def lines(text: str) -> list[tuple[str, str]]:
    """A header's lines, as keys and values."""
    pairs = (line.partition(" ") for line in text.split("\n"))
    return [(key, value) for key, _, value in pairs]


def receive_sized(control: int) -> bytes:
    """What `write_sized` has written. Raises EOFError where the host has gone."""
    return receive(control, int.from_bytes(receive(control, 4), "big"))


def receive(control: int, size: int) -> bytes:
    """Exactly `size` bytes. Raises EOFError where the host has gone."""
    data = bytearray()
    while len(data) < size:
        part = os.read(control, min(size - len(data), 1 << 20))
        if not part:
            raise EOFError
        data += part
    return bytes(data)


def send(control: int, header: Iterable[str], blobs: Iterable[bytes]) -> None:
    """One frame, of the header's lines and the blobs they announce."""
    write_sized(control, "\n".join(header).encode())
    for blob in blobs:
        write_all(control, blob)


def hand_over(fd: int, data: bytes, descriptor: int) -> None:
    """Write a little over the socket `fd`, and with it a descriptor, which is closed here."""
    import socket  # noqa: PLC0415  (which few agents need)

    try:
        with socket.socket(fileno=os.dup(fd)) as out:
            socket.send_fds(out, [data], [descriptor])
    finally:
        os.close(descriptor)


def write_sized(fd: int, data: bytes) -> None:
    """Write the length of `data`, and it."""
    write_all(fd, len(data).to_bytes(4, "big") + data)


def write_all(fd: int, data: bytes) -> None:
    """Write everything to a descriptor that blocks."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
