"""Line ends of text files. Models write line feeds; a file keeps the line ends it has. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator

from agents.texts import lines_of

LF, CRLF = "\n", "\r\n"
BOM = "\ufeff"


def keep_line_ends(new: str, old: str, after: str = "") -> str:
    """`new`, which replaces the text `old`, with its line ends.

    CR LF in `new` stays. A line that ends with LF ends as the line of `old` that it repeats; a new
    line ends as the line before it, the first one as the first line of `old`, or of the text that
    comes `after` it in the file. The last one ends as the last line of `old`.
    """
    if CRLF not in old and CRLF not in after:
        return new
    known = _Ends(old)
    end = _first_end(old) or _first_end(after) or LF
    made, before = [], ""
    for line in lines_of(new):
        text, own = _split(line)
        if own == LF:
            own = end = known.end_of(before, text) or end
        made.append((text, own))
        before = text
    if made and made[-1][1] and _split(new)[1] == LF:
        text, own = made[-1]
        made[-1] = text, _split(old)[1] or own
    return "".join(text + own for text, own in made)


def adapt_appended(text: str, old: str) -> str:
    """`text`, which is added to the end of `old`, with the line ends of its last line."""
    last = old.rfind(LF)
    return keep_line_ends(text, "", CRLF if last > 0 and old[last - 1] == "\r" else "")


def places_of(part: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    """The first `most` places of `part` in `text` as (start, end), overlapping ones included. LF in
    `part` stands for any line end; CR LF stands for itself, if `part` is there with it."""
    if CRLF in part and part in text:
        yield from ((at, at + len(part)) for at in _found(part, text, most))
        return
    plain, part = text.replace(CRLF, LF), part.replace(CRLF, LF)
    ends = list(_plain_ends(text)) if len(plain) < len(text) else []
    for at in _found(part, plain, most):
        start, end = at, at + len(part)
        yield start + bisect_left(ends, start), end + bisect_left(ends, end)


class _Ends:
    """The line ends of a text, by the line and the one before it, in order; and by the line alone
    where all of its kind have the same."""

    def __init__(self, text: str) -> None:
        self._in_order: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        self._by_text: dict[str, set[str]] = defaultdict(set)
        before = ""
        for line in lines_of(text):
            own, end = _split(line)
            if end:
                self._in_order[before, own].append(end)
                self._by_text[own].add(end)
            before = own

    def end_of(self, before: str, text: str) -> str | None:
        """The end of a line that comes after another; None where no such line was there."""
        if found := self._in_order.get((before, text)):
            return found.popleft()
        ends = self._by_text.get(text, ())
        return next(iter(ends)) if len(ends) == 1 else None


def _split(line: str) -> tuple[str, str]:
    """A line without its end, and the end."""
    for end in (CRLF, LF):
        if line.endswith(end):
            return line.removesuffix(end), end
    return line, ""


def _first_end(text: str) -> str:
    at = text.find(LF)
    if at < 0:
        return ""
    return CRLF if at > 0 and text[at - 1] == "\r" else LF


def _plain_ends(text: str) -> Iterator[int]:
    """Where the text without each CR before an LF has those LF."""
    at = text.find(CRLF)
    removed = 0
    while at >= 0:
        yield at - removed
        removed += 1
        at = text.find(CRLF, at + 2)


def _found(part: str, text: str, most: int) -> Iterator[int]:
    at = text.find(part)
    for _ in range(most):
        if at < 0:
            return
        yield at
        at = text.find(part, at + 1)
