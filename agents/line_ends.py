"""Line ends of text files. Models write line feeds; a file keeps the line ends it has. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Iterator

from agents.texts import lines_of

LF, CRLF = "\n", "\r\n"
BOM = "\ufeff"


def keep_line_ends(new: str, old: str, after: str = "") -> str:
    """`new`, which replaces the text `old`, with the line ends of `old`.

    CR LF in `new` does not change. A line that ends with LF gets the line end of the same line in
    `old`; a new line gets the line end of the line before it. If the first line is new, it gets the
    line end of the first line of `old`, or of the text that comes `after` it in the file. The last
    line gets the last line end of `old`.
    """
    if CRLF not in old and CRLF not in after:
        return new
    old_ends = _LineEnds(old)
    end = _first_end(old) or _first_end(after) or LF
    lines, previous = [], ""
    for line in lines_of(new):
        text, line_end = _split(line)
        if line_end == LF:
            line_end = end = old_ends.find(previous, text) or end
        lines.append((text, line_end))
        previous = text
    if _split(new)[1] == LF:
        text, line_end = lines[-1]
        lines[-1] = text, _split(old)[1] or line_end
    return "".join(text + line_end for text, line_end in lines)


def adapt_appended(text: str, old: str) -> str:
    """`text`, which a tool adds to the end of `old`, with the line end of the last line there."""
    last = old.rfind(LF)
    return keep_line_ends(text, "", CRLF if last > 0 and old[last - 1] == "\r" else "")


def find_places(part: str, text: str, most: int) -> Iterator[tuple[int, int]]:
    """The first `most` places of `part` in `text` as (start, end); places may overlap. An LF in
    `part` matches any line end; CR LF matches itself if `text` contains `part` with it."""
    if CRLF in part and part in text:
        yield from ((start, start + len(part)) for start in _find_all(part, text, most))
        return
    plain, part = text.replace(CRLF, LF), part.replace(CRLF, LF)
    converted = list(_converted_ends(text)) if len(plain) < len(text) else []
    for start in _find_all(part, plain, most):
        end = start + len(part)
        yield start + bisect_left(converted, start), end + bisect_left(converted, end)


class _LineEnds:
    """The line ends of a text: in order, by a line and the line before it; and by the line alone if
    all equal lines have the same line end."""

    def __init__(self, text: str) -> None:
        self._in_order: dict[tuple[str, str], deque[str]] = defaultdict(deque)
        self._by_line: dict[str, set[str]] = defaultdict(set)
        previous = ""
        for line in lines_of(text):
            content, end = _split(line)
            if end:
                self._in_order[previous, content].append(end)
                self._by_line[content].add(end)
            previous = content

    def find(self, previous: str, line: str) -> str | None:
        """The line end of a line that comes after another; None if the text has no such line."""
        if ends_in_order := self._in_order.get((previous, line)):
            return ends_in_order.popleft()
        ends = self._by_line.get(line, ())
        return next(iter(ends)) if len(ends) == 1 else None


def _split(line: str) -> tuple[str, str]:
    """A line without its line end, and the line end."""
    for end in (CRLF, LF):
        if line.endswith(end):
            return line.removesuffix(end), end
    return line, ""


def _first_end(text: str) -> str:
    index = text.find(LF)
    if index < 0:
        return ""
    return CRLF if index > 0 and text[index - 1] == "\r" else LF


def _converted_ends(text: str) -> Iterator[int]:
    """The indexes, in the text with LF for each CR LF, of the LFs that were CR LF."""
    index, removed = text.find(CRLF), 0
    while index >= 0:
        yield index - removed
        removed += 1
        index = text.find(CRLF, index + 2)


def _find_all(part: str, text: str, most: int) -> Iterator[int]:
    start = text.find(part)
    for _ in range(most):
        if start < 0:
            return
        yield start
        start = text.find(part, start + 1)
