"""The difference between two versions of a program and its files. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MOST_LINES = 2_000
"""Longer texts are not compared by line: it costs more than it shows."""

_NAMES = ("--- a/", "--- /dev/null", "+++ b/", "+++ /dev/null")


@dataclass(frozen=True, slots=True)
class Change:
    """A unified diff, and the number of lines it adds and removes."""

    diff: str
    added: int
    removed: int


def change(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Change:
    """From the texts `before` to those `after`, by name; None is a missing text."""
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old != new:
            lines += _changed(name, old, new)
    changed = [line for line in lines if not line.startswith(_NAMES)]
    return Change(
        diff="\n".join(lines),
        added=sum(line.startswith("+") for line in changed),
        removed=sum(line.startswith("-") for line in changed),
    )


def _changed(name: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    was, now = _lines(old), _lines(new)
    if was is None or now is None:
        sizes = f"{len(old or b'')} -> {len(new or b'')} bytes"
        yield f"{name} differs ({sizes})"
        return
    names = f"a/{name}" if old is not None else "/dev/null", f"b/{name}" if new is not None else ""
    yield from difflib.unified_diff(was, now, names[0], names[1] or "/dev/null", lineterm="")


def _lines(content: bytes | None) -> list[str] | None:
    """The lines of a text; None if it is no text, or too long."""
    try:
        lines = (content or b"").decode().split("\n")
    except UnicodeDecodeError:
        return None
    return lines if len(lines) <= MOST_LINES else None
