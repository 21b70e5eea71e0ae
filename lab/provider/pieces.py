"""Splits a text into the pieces of a stream."""

from __future__ import annotations

CHARACTERS = 16


def pieces(text: str, size: int = CHARACTERS) -> list[str]:
    """`text` in pieces of `size` characters; no piece if it is empty."""
    return [text[start : start + size] for start in range(0, len(text), size)]
