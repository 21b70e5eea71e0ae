"""A binary file in a patch of git: its version before the change. Pure.

A patch has the changes of a binary file in both directions, each as the bytes of a version or as a
difference from the other version. So the version in the commit follows from the patch and the
version after the change. A patch is untrusted: sizes are bounded.

See https://git-scm.com/docs/pack-format (deltified representation) for the form of a difference.
"""

from __future__ import annotations

import base64
import io
import re
import zlib

from jobs.view.patch import find_part

MAX_VERSION_BYTES = 8 * 1024 * 1024
"""The largest version that is read."""
_MARK = "GIT binary patch"
_HAS_LINES = re.compile(r"^(?:@@ |Binary files )", re.MULTILINE)
_LENGTHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
"""A line begins with the number of its bytes: A is 1."""


def read_version_before(patch: bytes, path: str, after: bytes) -> bytes | None:
    """The bytes of a file before the change, from its bytes `after` the change; None if the patch
    does not have the file, or has it as a text. Raises ValueError for a broken patch."""
    part = find_part(patch, path)
    if part is None or _HAS_LINES.search(part):
        return None
    if _MARK not in part:  # only the name or the mode is changed
        return after
    hunks = part.partition(f"{_MARK}\n")[2].split("\n\n")
    header, *lines = hunks[1].split("\n") if len(hunks) > 1 else [""]
    kind, _, size = header.partition(" ")
    if kind not in ("literal", "delta") or not size.isdecimal() or int(size) > MAX_VERSION_BYTES:
        raise ValueError("the patch has no version before the change, or a large one")
    content = _inflate(b"".join(map(_decode_line, filter(None, lines))), int(size))
    return content if kind == "literal" else _apply_delta(content, after)


def _decode_line(line: str) -> bytes:
    return base64.b85decode(line[1:])[: _LENGTHS.index(line[0]) + 1]


def _inflate(compressed: bytes, size: int) -> bytes:
    try:
        content = zlib.decompressobj().decompress(compressed, size + 1)
    except zlib.error as error:
        raise ValueError("the patch has broken bytes") from error
    if len(content) != size:
        raise ValueError("the patch has another number of bytes than it says")
    return content


def _apply_delta(delta: bytes, base: bytes) -> bytes:
    """The bytes that a difference makes of `base`: copies of its parts, and new bytes. Each step
    makes at least one byte, so the size of the result bounds the time."""
    steps = io.BytesIO(delta)
    sizes = [_read_size(steps), _read_size(steps)]
    if sizes[0] != len(base) or sizes[1] > MAX_VERSION_BYTES:
        raise ValueError("the difference belongs to other bytes, or is too large")
    result = bytearray()
    while first := steps.read(1):
        step = first[0]
        if step & 0x80:
            start = _read_number(steps, step, range(4))
            length = _read_number(steps, step, range(4, 7)) or 0x10000
            part = base[start : start + length]
        else:
            part = steps.read(step)
        result += part
        if not part or len(result) > sizes[1]:
            break
    if len(result) != sizes[1] or steps.read(1):
        raise ValueError("the difference makes another number of bytes than it says")
    return bytes(result)


def _read_size(steps: io.BytesIO) -> int:
    """A number in groups of seven bits, the lowest first, of at most four bytes. If the high bit of
    a byte is set, another byte follows."""
    size = 0
    for shift in range(0, 28, 7):
        byte = steps.read(1) or b"\0"
        size |= (byte[0] & 0x7F) << shift
        if not byte[0] & 0x80:
            return size
    raise ValueError("the difference has a number that is too large")


def _read_number(steps: io.BytesIO, step: int, bits: range) -> int:
    """A number of up to four bytes, the lowest first. `bits` are the bits of `step` for its bytes:
    if a bit is 0, the byte is 0 and is left out."""
    present = (bit for bit in bits if step >> bit & 1)
    return sum((steps.read(1) or b"\0")[0] << 8 * (bit - bits[0]) for bit in present)
