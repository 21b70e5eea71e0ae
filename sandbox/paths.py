"""Which paths may name a file of the workspace. Pure; used outside and inside of a sandbox.

A path is relative POSIX text: no empty, `.` or `..` parts, no control characters (C1's among them:
U+009B begins an escape sequence), no sign that ends a line or turns the direction of the text after
it, valid UTF-8, and within the kernel's lengths. Every other name that git takes is valid, with
spaces of any kind and joined emoji. The rule is the same for the files of a caller and for the
files of a run; a name that breaks it is refused, not changed. `jobs.blobs.manifest` repeats the
rule; a test compares both.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `sandbox/`, where this is read too: no slow imports
if TYPE_CHECKING:
    from collections.abc import Iterable

PART_BYTES = 255
PATH_BYTES = 1024
TARGET_BYTES = 4095
"""The longest target of a symbolic link on Linux."""
DEPTH = 32
ELF = b"\x7fELF"
REFUSALS = 20
"""How many files that were not collected are listed by name."""
_DECEPTIVE = frozenset(map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Line and paragraph separators; embeddings, overrides and isolates of the writing direction."""


_IGNORED_BY_HFS = dict.fromkeys(
    (*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF)
)


def fault(path: str) -> str | None:
    """The reason why `path` may not name a workspace file, in a few words; None if it may."""
    if (deceptive := _deceptive(path)) is not None:
        return f"{deceptive} in its name"
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
    """Whether a file can be executed by default: it is compiled, or names its interpreter."""
    return data.startswith((b"#!", ELF))


def target_fault(target: str) -> str | None:
    """The reason why a symbolic link of the workspace may not have this target; None if it may. A
    link may lead anywhere, because only code in a sandbox follows it.
    """
    if (deceptive := _deceptive(target)) is not None:
        return f"a symbolic link with {deceptive} in its target"
    try:
        size = len(target.encode())
    except UnicodeEncodeError:
        return "a symbolic link with a target that is not UTF-8"
    return None if 0 < size <= TARGET_BYTES else "a symbolic link with too long a target, or none"


def _deceptive(text: str) -> str | None:
    if not text.isprintable():
        if any(ord(sign) < 0x20 or 0x7F <= ord(sign) < 0xA0 for sign in text):
            return "a control character"
        if any(sign in _DECEPTIVE for sign in text):
            return "a sign that would change how the rest is shown"
    return None


def is_gits(path: str) -> bool:
    """Whether git, on any system, takes a part of the path for `.git`: file systems of macOS ignore
    characters that are not seen, and those of Windows a case, an end and a short name. No commit
    can have such a path, and checking it out would change the user's repository.
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
