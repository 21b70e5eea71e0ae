"""The difference between two versions of a program and its files. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import pairwise, takewhile

from typing_extensions import override

MOST_LINES = 1_000
"""The number of lines that are compared with each other, in all texts together. Lines that occur
once in both texts are not counted. Longer texts are not compared: twice as many repeated lines
need eight times the time, 0.2 s for this number. A time limit cannot end the comparison, because
the model reads the result (ADR 61)."""
CONTEXT_LINES = 3

_NAMES = ("--- a/", "--- /dev/null", "+++ b/", "+++ /dev/null")


@dataclass(frozen=True, slots=True)
class UnifiedDiff:
    """A unified diff, and the number of lines it adds and removes."""

    diff: str
    added: int
    removed: int


class _Texts:
    """Two versions of a text, as lines."""

    def __init__(self, was: Sequence[str], now: Sequence[str]) -> None:
        self.was, self.now = was, now
        self._equal, self._gaps = _matched(was, now)

    @property
    def differing(self) -> int:
        """The lines to compare: those between lines that are known to be equal."""
        return sum(max(gap.old_end - gap.old, gap.new_end - gap.new) for gap in self._gaps)

    def unified(self, context: int) -> Iterator[str]:
        """The hunks, with `context` equal lines around each change."""
        blocks = [*self._equal, *(block for gap in self._gaps for block in self._compare(gap))]
        matcher = _KnownBlocks(blocks, len(self.was), len(self.now))
        for group in matcher.get_grouped_opcodes(context):
            (_, old, _, new, _), (_, _, old_end, _, new_end) = group[0], group[-1]
            yield f"@@ -{_range(old, old_end - old)} +{_range(new, new_end - new)} @@"
            for kind, begin, end, new_begin, new_end in group:
                if kind == "equal":
                    yield from (f" {line}" for line in self.was[begin:end])
                    continue
                yield from (f"-{line}" for line in self.was[begin:end])
                yield from (f"+{line}" for line in self.now[new_begin:new_end])

    def _compare(self, gap: _Gap) -> Iterator[Match]:
        was, now = self.was[gap.old : gap.old_end], self.now[gap.new : gap.new_end]
        for old, new, size in SequenceMatcher(None, was, now).get_matching_blocks():
            yield Match(gap.old + old, gap.new + new, size)


@dataclass(frozen=True, slots=True)
class _Gap:
    """The lines from `old` to `old_end`, and from `new` to `new_end`, which may differ."""

    old: int
    old_end: int
    new: int
    new_end: int


class _KnownBlocks(SequenceMatcher[str]):
    """Groups known equal blocks into hunks."""

    def __init__(self, blocks: Sequence[Match], old: int, new: int) -> None:
        super().__init__(None, "", "")
        self._blocks = [Match(0, 0, 0)]
        for block in sorted(block for block in blocks if block.size):
            last = self._blocks[-1]
            if (last.a + last.size, last.b + last.size) == (block.a, block.b):
                self._blocks[-1] = Match(last.a, last.b, last.size + block.size)
            else:
                self._blocks.append(block)
        self._blocks = [*(block for block in self._blocks if block.size), Match(old, new, 0)]

    @override
    def get_matching_blocks(self) -> list[Match]:
        return self._blocks


def _matched(was: Sequence[str], now: Sequence[str]) -> tuple[list[Match], list[_Gap]]:
    """The blocks that are equal without a comparison, and the gaps between them. A block is a line
    that occurs once in both texts, with the equal lines next to it (a patience diff)."""
    blocks, gaps = [], []
    for (old, new), (old_end, new_end) in pairwise(
        ((-1, -1), *_once(was, now), (len(was), len(now)))
    ):
        start, new_start = old + 1, new + 1
        most = min(old_end - start, new_end - new_start)
        head = _count_equal((was[start + far], now[new_start + far]) for far in range(most))
        ends = ((was[old_end - 1 - far], now[new_end - 1 - far]) for far in range(most - head))
        tail = _count_equal(ends)
        blocks += [Match(start, new_start, head), Match(old_end - tail, new_end - tail, tail)]
        if old_end < len(was) or new_end < len(now):
            blocks.append(Match(old_end, new_end, 1))
        gaps.append(_Gap(start + head, old_end - tail, new_start + head, new_end - tail))
    return blocks, gaps


def _once(was: Sequence[str], now: Sequence[str]) -> list[tuple[int, int]]:
    """The indexes of lines that occur once in both texts: the longest sequence that is in the same
    order. The equal lines at both ends of the texts are left out."""
    same = _count_equal(zip(was, now, strict=False))
    most = min(len(was), len(now)) - same
    alike = _count_equal((was[-1 - far], now[-1 - far]) for far in range(most))
    old_lines, lines = was[same : len(was) - alike], now[same : len(now) - alike]
    old_counts, counts = Counter(old_lines), Counter(lines)
    old_indexes = {
        line: index for index, line in enumerate(old_lines, same) if old_counts[line] == 1
    }
    pairs = [
        (old_indexes[line], index)
        for index, line in enumerate(lines, same)
        if counts[line] == 1 and line in old_indexes
    ]
    ends: list[int] = []  # the smallest end of an increasing sequence of each length
    last: list[int] = []  # its index in `pairs`
    before: list[int] = []
    for number, (old, _) in enumerate(pairs):
        length = bisect_left(ends, old)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1], last[length : length + 1] = [old], [number]
    chosen, number = list[tuple[int, int]](), last[-1] if last else -1
    while number >= 0:
        chosen.append(pairs[number])
        number = before[number]
    return chosen[::-1]


def change(
    before: Mapping[str, bytes | None],
    after: Mapping[str, bytes | None],
    context: int = CONTEXT_LINES,
) -> UnifiedDiff:
    """The change from the texts `before` to the texts `after`, by name; a missing text is None.
    Each hunk has `context` equal lines around its changes."""
    lines: list[str] = []
    remaining_lines = MOST_LINES
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old == new:
            continue
        texts = _texts(old, new)
        if texts is None or texts.differing > remaining_lines:
            lines.append(f"{name} differs ({len(old or b'')} -> {len(new or b'')} bytes)")
            continue
        remaining_lines -= texts.differing
        lines.append(f"--- a/{name}" if old is not None else "--- /dev/null")
        lines.append(f"+++ b/{name}" if new is not None else "+++ /dev/null")
        lines += texts.unified(context)
    changed = [line for line in lines if not line.startswith(_NAMES)]
    return UnifiedDiff(
        diff="\n".join(lines),
        added=sum(line.startswith("+") for line in changed),
        removed=sum(line.startswith("-") for line in changed),
    )


def _texts(old: bytes | None, new: bytes | None) -> _Texts | None:
    """The two texts; None if one of them is not UTF-8."""
    try:
        was, now = ((content or b"").decode().split("\n") for content in (old, new))
    except UnicodeDecodeError:
        return None
    return _Texts(was, now)


def _count_equal(pairs: Iterable[tuple[str, str]]) -> int:
    """The number of equal pairs before the first pair that differs."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _range(begin: int, count: int) -> str:
    """A range of lines in the form of a unified diff; `begin` counts from 0."""
    if count == 1:
        return str(begin + 1)
    return f"{begin + 1 if count else begin},{count}"
