"""The patch of one file between two versions, in git's format. Pure.

A job without a repository has no patch by git. Its pages show the same view of a patch, which reads
this text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

CONTEXT_LINES = 3
FILE, PROGRAM, LINK = "100644", "100755", "120000"
"""The modes of git."""
_BINARY_BYTES = 8_000
"""As git, a file counts as binary if these first bytes have a NUL."""
_NO_NEWLINE = "\n\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class FileVersion:
    """A file, or a link with its target as content."""

    content: bytes
    mode: str = FILE


CompareLines = Callable[[Sequence[str], Sequence[str]], Sequence[str] | None]
"""A function from the lines of two versions to the lines of their hunks. None: it takes too
long."""


def format_file_patch(
    path: str, before: FileVersion | None, after: FileVersion | None, compare: CompareLines
) -> bytes:
    """The patch of a file, of which one version may be missing. If `compare` returns None, the
    patch replaces all lines between the first and the last difference."""
    if before and after and LINK in (before.mode, after.mode) and before.mode != after.mode:
        return format_file_patch(path, before, None, compare) + format_file_patch(
            path, None, after, compare
        )
    head = [f"diff --git a/{path} b/{path}", *_mode_lines(before, after)]
    names = (f"a/{path}" if before else "/dev/null", f"b/{path}" if after else "/dev/null")
    old, new = (version.content if version else b"" for version in (before, after))
    if old == new:
        lines = head
    elif b"\0" in old[:_BINARY_BYTES] + new[:_BINARY_BYTES]:
        lines = [*head, f"Binary files {names[0]} and {names[1]} differ"]
    else:
        lines = [*head, f"--- {names[0]}\t", f"+++ {names[1]}\t", *_hunks(old, new, compare)]
    return "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")


def _mode_lines(before: FileVersion | None, after: FileVersion | None) -> list[str]:
    if before is None or after is None:
        version, kind = (after, "new") if after else (before, "deleted")
        return [f"{kind} file mode {version.mode if version else FILE}"]
    if before.mode != after.mode:
        return [f"old mode {before.mode}", f"new mode {after.mode}"]
    return [f"index 0000000..0000000 {after.mode}"] if after.mode == LINK else []


def _hunks(old: bytes, new: bytes, compare: CompareLines) -> Sequence[str]:
    before, after = _lines(old), _lines(new)
    hunks = compare(before, after) if before and after else None
    return _replace(before, after) if hunks is None else hunks


def _lines(content: bytes) -> list[str]:
    """The lines; the last line is marked if it has no end, as git does. Bytes that are not UTF-8
    become surrogates, so that the patch has the same bytes."""
    lines = content.decode(errors="surrogateescape").split("\n")
    last = lines.pop()
    return [*lines, last + _NO_NEWLINE] if last else lines


def _replace(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """One hunk that replaces the lines between the first and the last difference."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    first, context = max(start - CONTEXT_LINES, 0), old[len(old) - end :][:CONTEXT_LINES]
    above = old[first:start]
    removed, added = old[start : len(old) - end], new[start : len(new) - end]
    ranges = [
        f"{first + (size > 0)},{size}"
        for size in (len(above) + len(lines) + len(context) for lines in (removed, added))
    ]
    return [
        f"@@ -{ranges[0]} +{ranges[1]} @@",
        *(f" {line}" for line in above),
        *(f"-{line}" for line in removed),
        *(f"+{line}" for line in added),
        *(f" {line}" for line in context),
    ]


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """The number of equal lines at the beginning."""
    pairs = zip(old, new, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
