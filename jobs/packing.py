"""Packing: the events of a job that has ended, in fewer bytes. Pure.

Each is compressed by itself, so that its number still finds it.
"""

from __future__ import annotations

import zlib

MARK = b"z"
"""Begins a packed body; JSON begins with a brace."""


def packed(stored: bytes) -> bytes | None:
    """A stored event ("at body") in fewer bytes; None where that gains nothing."""
    at, _, body = stored.partition(b" ")
    if body.startswith(MARK):
        return None
    smaller = b" ".join((at, MARK + zlib.compress(body)))
    return smaller if len(smaller) < len(stored) else None


def unpacked(body: bytes) -> bytes:
    """The body of an event, packed or not."""
    return zlib.decompress(body[len(MARK) :]) if body.startswith(MARK) else body
