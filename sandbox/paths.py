"""Checks which paths may name a file of the workspace. Pure; used outside and inside of a sandbox.

A path is relative POSIX text in valid UTF-8, within the kernel's lengths. It has no empty, `.` or
`..` parts, no control characters (including C1: U+009B begins an escape sequence), and no character
that ends a line or changes the direction of the following text. Every other name that git accepts
is valid, with spaces of any kind and joined emoji. The same rule applies to the files of a caller
and to the files of a run. An invalid path is refused, not changed. `jobs.blobs.manifest` repeats
the rule; a test compares both.
"""

from __future__ import annotations

TYPE_CHECKING = False  # a sandbox imports this module, so it avoids slow imports
if TYPE_CHECKING:
    from collections.abc import Iterable

PART_BYTES = 255
PATH_BYTES = 1024
TARGET_BYTES = 4095
"""The longest target of a symbolic link on Linux."""
DEPTH = 32
ELF = b"\x7fELF"
REFUSALS = 20
"""How many files that were not collected a result names."""
_DECEPTIVE = frozenset(map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Line and paragraph separators; embeddings, overrides and isolates of the writing direction."""


_IGNORED_BY_HFS = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


def fault(path: str) -> str | None:
    """The reason why `path` may not name a workspace file, in a few words; None if it may."""
    if (deception := _find_deception(path)) is not None:
        return f"{deception} in its name"
    try:
        sizes = [len(part.encode()) for part in path.split("/")]
    except UnicodeEncodeError:
        return "a name that is not UTF-8"
    if any(part in {"", ".", ".."} for part in path.split("/")):
        return "a path that is not plainly relative"
    if max(sizes) > PART_BYTES or sum(sizes) > PATH_BYTES or len(sizes) > DEPTH:
        return "too long or too deep a path"
    return None


def is_program(data: bytes) -> bool:
    """Whether a file is executable by default: it is compiled, or names its interpreter."""
    return data.startswith((b"#!", ELF))


def target_fault(target: str) -> str | None:
    """The reason why a symbolic link of the workspace may not have this target; None if it may. A
    link may lead anywhere, because only code in a sandbox follows it.
    """
    if (deception := _find_deception(target)) is not None:
        return f"a symbolic link with {deception} in its target"
    try:
        size = len(target.encode())
    except UnicodeEncodeError:
        return "a symbolic link with a target that is not UTF-8"
    return None if 0 < size <= TARGET_BYTES else "a symbolic link with too long a target, or none"


def _find_deception(text: str) -> str | None:
    if not text.isprintable():
        if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
            return "a control character"
        if any(char in _DECEPTIVE for char in text):
            return "a character that changes the display of the following text"
    return None


def is_git_internal(path: str) -> bool:
    """Whether git on any system reads a part of the path as `.git`. File systems of macOS ignore
    invisible characters; file systems of Windows ignore case and trailing dots and spaces, and know
    short names. No commit can have such a path: to check it out would change the user's repository.
    """
    return any(_is_git_folder(part) for part in path.split("/"))


def _is_git_folder(part: str) -> bool:
    name = part.lower() if part.isascii() else part.translate(_IGNORED_BY_HFS).lower()
    return name.partition(":")[0].rstrip(" .") in {".git", "git~1"}


def require(paths: Iterable[str]) -> None:
    """Raise ValueError for an invalid path, or for a file that is also a directory."""
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
