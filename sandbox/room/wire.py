"""Frames on the control socket: a header's length (4 bytes, big-endian), the header as JSON, and
the blobs whose sizes the header tells. Blocking; the host's side is `sandbox/frames.py`.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterable
from typing import Any


def receive_header(control: socket.socket) -> dict[str, Any]:
    """The next header. Raises EOFError where the host has gone."""
    (size,) = struct.unpack(">I", receive(control, 4))
    header: dict[str, Any] = json.loads(receive(control, size))
    return header


def receive(control: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes. Raises EOFError where the host has gone."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = control.recv_into(view)
        if not count:
            raise EOFError
        view = view[count:]
    return bytes(data)


def send(control: socket.socket, header: dict[str, Any], blobs: Iterable[bytes]) -> None:
    """One frame."""
    text = json.dumps(header).encode()
    control.sendall(struct.pack(">I", len(text)) + text)
    for blob in blobs:
        control.sendall(blob)
