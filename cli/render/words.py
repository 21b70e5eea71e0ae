"""A spend and foreign text as a terminal shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.http.foreign_text import visible
from api.quantities import money, plural


def printable(text: str) -> str:
    """Foreign text with its hidden signs spelled out; tabs become spaces."""
    return visible(text).expandtabs(4)


def clip(text: str, lines: int | None) -> str:
    """The first and last of the text's lines, `lines` of them in all, and how many are left out."""
    every = text.rstrip("\n").split("\n")
    if lines is None or len(every) <= lines:
        return "\n".join(every)
    head = (lines + 1) // 2
    tail = lines - head
    gap = f"... {len(every) - lines} more lines ..."
    return "\n".join([*every[:head], gap, *every[len(every) - tail :]])


def spend(total: Mapping[str, Any]) -> str:
    """A spend in one line: calls, tokens, money."""
    tokens = f"{total['input_tokens'] + total['output_tokens']:,} tokens"
    if cached := total.get("cached_input_tokens"):
        tokens += f" ({cached:,} out of the cache)"
    return ", ".join((plural(total["calls"], "model call"), tokens, money(total["cost_usd"])))
