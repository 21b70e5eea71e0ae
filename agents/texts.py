"""Text: cutting to size, lines, and half surrogate pairs. Pure.

A line ends with a line feed, and with nothing else that `str.splitlines` knows: line 12 of a
program's traceback must be line 12 here. Models write half surrogate pairs, which no file and no
request accepts.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

_LEFT_OUT = re.compile(r"\n\[\.\.\. (\d{1,12}) characters left out \.\.\.\]\n")
_BULLET = re.compile(r"^[^\S\n]*[-*]\s+", re.MULTILINE)


_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zs", "Zl", "Zp", "Mn"})
"""Unicode categories of characters that show nothing by themselves."""
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that show nothing."""


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing: the text is empty, or white space, or of no width."""
    return all(
        character in _FILLERS or unicodedata.category(character) in _INVISIBLE for character in text
    )


def head_and_tail(text: str, limit: int) -> str:
    """`text` within about `limit` characters: its head, its tail, and the number of characters left
    out, now and in earlier cuts."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, len(text) - limit + limit // 2
    middle = text[head:tail]
    gone = len(middle) + sum(int(cut[1]) - len(cut[0]) for cut in _LEFT_OUT.finditer(middle))
    return f"{text[:head]}\n[... {gone} characters left out ...]\n{text[tail:]}"


def heads_and_tails(texts: Sequence[str], limit: int) -> str:
    """The texts one after the other, within about `limit` characters: the longest are cut to their
    heads and tails, all to the same length."""
    lengths = sorted(map(len, texts))
    left, most = limit, limit
    for position, length in enumerate(lengths):
        most = left // (len(lengths) - position)
        if length > most:
            break
        left -= length
    return "".join(head_and_tail(text, most) if len(text) > most else text for text in texts)


def weight(text: str) -> int:
    """Its bytes in UTF-8. Three of them are about a token, in code and in Chinese."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def bounded(text: str, limit: int) -> str:
    """The beginning of `text`, at most `limit` characters."""
    return text if len(text) <= limit else text[: limit - 4].rstrip() + " ..."


def one_line(text: str, limit: int) -> str:
    """`text` on one line, without list marks, within `limit` characters, cut at a word."""
    flat = " ".join(_BULLET.sub("", text).split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 4].rsplit(" ", 1)[0] + " ..."


def as_text(content: bytes) -> str | None:
    """The text of a file, or None if the file is binary."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def listed(names: Sequence[str], most: int = 12) -> str:
    """The first `most` names, and the number of the others."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def lines_of(text: str) -> list[str]:
    """The lines with their ends; the last may have none. A carriage return belongs to its line."""
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def numbered(text: str) -> str:
    """The text with the number of each line, from 1, before it."""
    return "".join(f"{number}\t{line}" for number, line in enumerate(lines_of(text), 1))


def excerpt(text: str, first: int, count: int | None, width: int) -> str | None:
    """Lines of `text` from number `first` (from 1), `count` of them or all, within about `width`
    characters, with a note if there are more. None after the end."""
    if first == 1 and count is None and len(text) <= width:
        return text
    lines = lines_of(text)
    if first > len(lines):
        return None if lines or first > 1 else ""
    wanted = lines[first - 1 : None if count is None else first - 1 + count]
    shown = fitting(wanted, width)
    if not shown:
        whole = wanted[0]
        return (
            f"[line {first} of {len(lines)} has {len(whole)} characters; these are the first "
            f"{width}]\n{whole[:width]}"
        )
    last = first + len(shown) - 1
    more = f"; go on with offset={last + 1}" if last < len(lines) else ""
    return f"[lines {first} to {last} of {len(lines)}{more}]\n{''.join(shown)}"


def fitting(lines: list[str], width: int) -> list[str]:
    """As many of the first lines as fit into `width` characters."""
    left = width
    for number, line in enumerate(lines):
        left -= len(line)
        if left < 0:
            return lines[:number]
    return lines


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each half, and one character for two halves that meet."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fix_surrogates(value: Any) -> Any:
    """The same for all texts in a JSON value, keys included; the value itself if there is no
    half."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(replace_surrogates(written))
    return value
