"""Numbers and foreign text as a person can read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


LEAST = Decimal("0.0001")


def printable(text: str) -> str:
    """Text that a model or a program wrote, made harmless to a terminal and to the reader's eye.

    Control characters could move the cursor or hide lines, and direction marks could show code in
    an order in which it does not run: all are spelled out. Tabs become spaces.
    """
    return _HOSTILE.sub(_spelled, text.replace("\r\n", "\n")).expandtabs(4)


def clip(text: str, lines: int | None) -> str:
    """The first and last of the text's lines, `lines` of them in all, and how many are left out."""
    every = text.rstrip("\n").split("\n")
    if lines is None or len(every) <= lines:
        return "\n".join(every)
    head = (lines + 1) // 2
    tail = lines - head
    gap = f"... {len(every) - lines} more lines ..."
    return "\n".join([*every[:head], gap, *every[len(every) - tail :]])


def first_line(text: str, width: int = 72) -> str:
    """A text's first line, cut to a width."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= width else line[: width - 1].rstrip() + "…"


def plural(count: int, word: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


def duration(seconds: float) -> str:
    """`0.42 s`, `12.3 s`, `2 min 05 s`."""
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def size(count: int) -> str:
    """`812 B`, `34.1 KiB`, `1.2 MiB`."""
    if count < 1024:
        return f"{count} B"
    scaled, unit = (count / 1024, "KiB") if count < 1024**2 else (count / 1024**2, "MiB")
    return f"{scaled:.1f} {unit}"


def money(dollars: str | None) -> str:
    """`$0.0031`, `under $0.0001`; a price that is not known is said to be so."""
    if dollars is None:
        return "price unknown"
    amount = Decimal(dollars)
    if amount == 0:
        return "$0"
    if amount < LEAST:
        return f"under ${LEAST}"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"


def spend(total: Mapping[str, Any]) -> str:
    """A spend in one line: calls, tokens, money."""
    tokens = f"{total['input_tokens'] + total['output_tokens']:,} tokens"
    if cached := total.get("cached_input_tokens"):
        tokens += f" ({cached:,} out of the cache)"
    return ", ".join((plural(total["calls"], "model call"), tokens, money(total["cost_usd"])))


def _spelled(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
