"""A text in the pieces that a stream brings it in."""

from __future__ import annotations

CHARACTERS = 16


def pieces(text: str, size: int = CHARACTERS) -> list[str]:
    """`text` in pieces of so many characters; none of an empty one."""
    return [text[start : start + size] for start in range(0, len(text), size)]
