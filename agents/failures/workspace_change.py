"""The difference between two versions of a program and its files. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile

MOST_LINES = 1_000
"""The lines between the first and the last difference of a text, in all texts together. The texts
above that are not compared by line: lines that repeat need eight times the time for twice as many,
0.2 s for this number. A clock cannot end it, because the model reads the result (ADR 61)."""
CONTEXT_LINES = 3

_NAMES = ("--- a/", "--- /dev/null", "+++ b/", "+++ /dev/null")


@dataclass(frozen=True, slots=True)
class Change:
    """A unified diff, and the number of lines it adds and removes."""

    diff: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class _Texts:
    """Two versions of a text, as lines; the first `same` lines and the last `alike` are equal."""

    was: Sequence[str]
    now: Sequence[str]
    same: int
    alike: int

    @property
    def differing(self) -> int:
        """Lines between the first and the last difference."""
        return max(len(self.was), len(self.now)) - self.same - self.alike

    def unified(self) -> Iterator[str]:
        """The hunks. It compares only the lines that differ, and their context."""
        first = max(0, self.same - CONTEXT_LINES)
        cut = max(0, self.alike - CONTEXT_LINES)
        was = self.was[first : len(self.was) - cut]
        now = self.now[first : len(self.now) - cut]
        for group in SequenceMatcher(None, was, now).get_grouped_opcodes(CONTEXT_LINES):
            (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
            old_range = _range(first + old, old_end - old)
            yield f"@@ -{old_range} +{_range(first + new, new_end - new)} @@"
            for kind, begin, end, new_begin, new_end in group:
                if kind == "equal":
                    yield from (f" {line}" for line in was[begin:end])
                    continue
                yield from (f"-{line}" for line in was[begin:end])
                yield from (f"+{line}" for line in now[new_begin:new_end])


def change(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> Change:
    """From the texts `before` to those `after`, by name; None is a missing text."""
    lines: list[str] = []
    lines_left = MOST_LINES
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        texts = _texts(old, new)
        if texts is None or texts.differing > lines_left:
            lines.append(f"{name} differs ({len(old or b'')} -> {len(new or b'')} bytes)")
            continue
        lines_left -= texts.differing
        lines.append(f"--- a/{name}" if old is not None else "--- /dev/null")
        lines.append(f"+++ b/{name}" if new is not None else "+++ /dev/null")
        lines += texts.unified()
    changed = [line for line in lines if not line.startswith(_NAMES)]
    return Change(
        diff="\n".join(lines),
        added=sum(line.startswith("+") for line in changed),
        removed=sum(line.startswith("-") for line in changed),
    )


def _texts(old: bytes | None, new: bytes | None) -> _Texts | None:
    """None if one of them is no text."""
    try:
        was, now = ((content or b"").decode().split("\n") for content in (old, new))
    except UnicodeDecodeError:
        return None
    same = _equal(zip(was, now, strict=False))
    most = min(len(was), len(now)) - same
    alike = _equal(zip(reversed(was), reversed(now), strict=False))
    return _Texts(was, now, same, min(alike, most))


def _equal(pairs: Iterator[tuple[str, str]]) -> int:
    """How many of the first pairs are equal."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _range(begin: int, count: int) -> str:
    """A range of lines as in a unified diff; `begin` counts from 0."""
    if count == 1:
        return str(begin + 1)
    return f"{begin + 1 if count else begin},{count}"
