"""Text: cutting to size, lines, and half surrogate pairs. Pure.

A line ends only with a line feed, not with the other characters at which `str.splitlines` splits:
line 12 of a program's traceback must be line 12 here. Models write half surrogate pairs, which no
file and no request accepts.
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
"""Unicode categories of characters that are invisible by themselves."""
SHAPELESS = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159"
    r"\U000e0000-\U000e0fff]"
)
"""A printable character without a shape, as in `jobs.model.visibility`, which this package does not
import: a model has to read a path in the form of the pages. A test compares both."""


def is_blank(text: str) -> bool:
    """Whether the text is empty or has only invisible characters."""
    return all(
        SHAPELESS.match(character) or unicodedata.category(character) in _INVISIBLE
        for character in text
    )


def head_and_tail(text: str, limit: int) -> str:
    """`text` within about `limit` characters: its head, its tail, and the number of omitted
    characters, including earlier cuts."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, len(text) - limit + limit // 2
    middle = text[head:tail]
    omitted = len(middle) + sum(int(cut[1]) - len(cut[0]) for cut in _LEFT_OUT.finditer(middle))
    return f"{text[:head]}\n[... {omitted} characters left out ...]\n{text[tail:]}"


def heads_and_tails(texts: Sequence[str], limit: int) -> str:
    """The texts one after the other, within about `limit` characters. The longest texts are cut to
    their heads and tails, all to the same length."""
    lengths = sorted(map(len, texts))
    remaining, most = limit, limit
    for position, length in enumerate(lengths):
        most = remaining // (len(lengths) - position)
        if length > most:
            break
        remaining -= length
    return "".join(head_and_tail(text, most) if len(text) > most else text for text in texts)


def weight(text: str) -> int:
    """The bytes of the text in UTF-8. Three bytes are about one token, in code and in Chinese."""
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
    first_names = ", ".join(names[:most])
    return f"{first_names} and {len(names) - most} more" if len(names) > most else first_names


def lines_of(text: str) -> list[str]:
    """The lines with their ends. The last line may have no end. A carriage return belongs to its
    line."""
    parts = text.split("\n")
    lines = [part + "\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def numbered(text: str) -> str:
    """The text with the number of each line, from 1, before it."""
    return "".join(f"{number}\t{line}" for number, line in enumerate(lines_of(text), 1))


def excerpt(text: str, first: int, count: int | None, width: int) -> str | None:
    """The lines of `text` from number `first` (from 1), within about `width` characters, with a
    note if the text has more lines. `count` is the number of lines, or None for all. The result is
    None if `first` is after the end."""
    if first == 1 and count is None and len(text) <= width:
        return text
    lines = lines_of(text)
    if first > len(lines):
        return None if lines or first > 1 else ""
    requested = lines[first - 1 : None if count is None else first - 1 + count]
    part = fitting(requested, width)
    if not part:
        line = requested[0]
        return (
            f"[line {first} of {len(lines)} has {len(line)} characters; these are the first "
            f"{width}]\n{line[:width]}"
        )
    last = first + len(part) - 1
    more = f"; go on with offset={last + 1}" if last < len(lines) else ""
    return f"[lines {first} to {last} of {len(lines)}{more}]\n{''.join(part)}"


def fitting(lines: list[str], width: int) -> list[str]:
    """The first lines that fit into `width` characters together."""
    remaining = width
    for number, line in enumerate(lines):
        remaining -= len(line)
        if remaining < 0:
            return lines[:number]
    return lines


def replace_surrogates(text: str) -> str:
    """The text with U+FFFD for each half surrogate, and one character for each complete pair."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def fix_surrogates(value: Any) -> Any:
    """A JSON value with `replace_surrogates` applied to all texts and keys; the value itself if it
    has no half surrogate."""
    written = json.dumps(value, ensure_ascii=False)
    try:
        written.encode()
    except UnicodeEncodeError:
        return json.loads(replace_surrogates(written))
    return value
