"""Two texts, and what differs between them, side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Literal

from markupsafe import Markup, escape

from api.pages import code
from api.pages.words import visible

AROUND = 3
MOST = 4_000
"""Lines a side; longer texts are shown one behind the other by their own pages."""
Kind = Literal["same", "changed", "added", "removed", "gap"]


@dataclass(frozen=True, slots=True)
class Row:
    """A line on each side: its number and its text, None where that side has none."""

    kind: Kind
    left: tuple[int, Markup] | None = None
    right: tuple[int, Markup] | None = None
    skipped: int = 0


def side_by_side(before: str, after: str, name: str = "code.py") -> Sequence[Row]:
    """The rows of a table; runs of equal lines are cut to their edges. Empty: nothing differs."""
    old, new = before.splitlines()[:MOST], after.splitlines()[:MOST]
    left = _numbered(old, name)
    right = _numbered(new, name)
    rows: list[Row] = []
    found = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(AROUND)
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
    """A unified diff, each line in a span of its kind."""
    kinds = {"+": "added", "-": "removed", "@": "place"}
    made = []
    for line in visible(diff).rstrip("\n").split("\n"):
        head = line.startswith(("+++", "---"))
        kind = "place" if head else kinds.get(line[:1], "same")
        made.append(Markup('<span class="d-{}">{}</span>').format(kind, escape(line)))
    return Markup("\n").join(made)
