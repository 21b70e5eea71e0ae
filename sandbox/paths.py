"""Which paths may name a file of the workspace. Pure; used outside and inside of a sandbox.

A path is relative POSIX text: no empty, `.` or `..` parts, no control characters (C1's among them:
U+009B begins an escape sequence), no sign that ends a line or turns the direction of what follows,
valid UTF-8, and within the kernel's lengths. The same rule holds for what a caller puts in and for
what comes out; a name that breaks it is refused, not changed.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `sandbox/`, where this is read too: no slow imports
if TYPE_CHECKING:
    from collections.abc import Iterable

PART_BYTES = 255
PATH_BYTES = 1024
DEPTH = 32
REFUSALS = 20
"""How many files that were not collected are listed by name."""
_DECEPTIVE = frozenset(map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Line and paragraph separators; embeddings, overrides and isolates of the writing direction."""


def fault(path: str) -> str | None:
    """Why `path` may not name a workspace file, in a few words; None where it may."""
    if not path.isprintable():
        if any(ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 for sign in path):
            return "a control character in its name"
        if any(sign in _DECEPTIVE for sign in path):
            return "a sign in its name that would change how the rest is shown"
    try:
        sizes = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:
        return "a name that is not UTF-8"
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return "a path that is not plainly relative"
    if max(sizes) > PART_BYTES or sum(sizes) > PATH_BYTES or len(sizes) > DEPTH:
        return "too long or too deep a path"
    return None


def require(paths: Iterable[str]) -> None:
    """Raise ValueError for a path that may not be, or for a file that is also a directory."""
    names = set(paths)
    for path in names:
        reason = fault(path)
        if reason is not None:
            raise ValueError(f"not a workspace path: {path!r}: {reason}")
    for path in names:
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if "/".join(parts[:depth]) in names:
                raise ValueError(f"a file and a directory at once: {'/'.join(parts[:depth])!r}")
