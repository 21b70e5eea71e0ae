"""Two texts side by side, with their differences. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from itertools import takewhile, zip_longest
from typing import Literal

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format import code

AROUND = 3
MOST = 4_000
"""Lines a side; longer texts are not compared."""
MOST_PAIRS = 250_000
"""Pairs of equal lines, one of each side, between the first difference and the last. With more,
everything in between is one difference: the search for equal blocks would take too long."""
Kind = Literal["same", "changed", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of each side, number and text; None where a side has none."""

    kind: Kind
    left: tuple[int, Markup] | None = None
    right: tuple[int, Markup] | None = None
    skipped: int = 0


class _Lines(SequenceMatcher[str]):
    """Compares lines in bounded time: equal beginnings and ends are not searched."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new)
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        old, new = self._old, self._new
        head = _alike(zip(old, new, strict=False))
        tail = _alike(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
        left, right = old[head : len(old) - tail], new[head : len(new) - tail]
        blocks = [Match(0, 0, head)]
        counted = Counter(right)
        if sum(counted[line] for line in left) <= MOST_PAIRS:
            inner = SequenceMatcher(None, left, right).get_matching_blocks()
            blocks += [Match(a + head, b + head, size) for a, b, size in inner if size]
        return [
            *blocks,
            Match(len(old) - tail, len(new) - tail, tail),
            Match(len(old), len(new), 0),
        ]


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def side_by_side(before: str, after: str, name: str = "code.py") -> Sequence[Row] | None:
    """The rows of a table; long runs of equal lines are cut. Empty: no line differs. None: a side
    has more than `MOST` lines. It may take a second, so it must not run in the event loop."""
    old, new = _split(before), _split(after)
    if max(len(old), len(new)) > MOST:
        return None
    found = _Lines(old, new).get_grouped_opcodes(AROUND)
    old, new = _with_ends(old, new)
    left = _numbered(old, name)
    right = _numbered(new, name)
    rows: list[Row] = []
    at = 0
    for group in found:
        if group[0][1] > at:
            rows.append(Row("gap", skipped=group[0][1] - at))
        for tag, a, b, c, d in group:
            rows.extend(_rows(tag, left[a:b], right[c:d]))
        at = group[-1][2]
    if rows and at < len(old):
        rows.append(Row("gap", skipped=len(old) - at))
    return rows


def _split(text: str) -> list[str]:
    """The lines. Only a line feed ends a line; a form feed, for example, does not."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _with_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """The lines without carriage returns at their ends. Where only some lines have one it is
    escaped, since that difference would be invisible."""
    ends = {line.endswith("\r") for line in (*old, *new)}
    if True not in ends:
        return old, new
    spelled = "" if len(ends) == 1 else "\\x0d"
    drawn = (
        [f"{text[:-1]}{spelled}" if text.endswith("\r") else text for text in side]
        for side in (old, new)
    )
    return next(drawn), next(drawn)


def _numbered(texts: Sequence[str], name: str) -> list[tuple[int, Markup]]:
    return list(enumerate(code.lines("\n".join(texts), name=name), start=1)) if texts else []


def _rows(
    tag: str, left: Sequence[tuple[int, Markup]], right: Sequence[tuple[int, Markup]]
) -> Iterator[Row]:
    kind: Kind = "same" if tag == "equal" else "changed"
    for one, other in zip_longest(left, right):
        if one is None:
            yield Row("added", None, other)
        elif other is None:
            yield Row("removed", one, None)
        else:
            yield Row(kind, one, other)


def unified(diff: str) -> Markup:
    """A unified diff, each line in a span with its kind as class."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    made = []
    for line in visible(diff).rstrip("\n").split("\n"):
        head = line.startswith(("+++", "---"))
        kind = "place" if head else kinds.get(line[:1], "same")
        made.append(Markup('<span class="d-{}">{}</span>').format(kind, escape(line)))
    return Markup("\n").join(made)
