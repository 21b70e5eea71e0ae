"""Cutting texts to size. Pure."""

from __future__ import annotations

import re

_LEFT_OUT = re.compile(r"\n\[\.\.\. (\d{1,12}) characters left out \.\.\.\]\n")
_BULLET = re.compile(r"^\s*[-*]\s+", re.MULTILINE)

SHORTEST_REPEAT = 12
"""Shorter lines (`}`, `---`, a bullet's label) recur in good answers too."""


def head_and_tail(text: str, limit: int) -> str:
    """`text` within about `limit` characters: its head and its tail, and how much was left out, now
    and when it was cut before."""
    if len(text) <= limit:
        return text
    head, tail = limit // 2, len(text) - limit + limit // 2
    middle = text[head:tail]
    gone = len(middle) + sum(int(cut[1]) - len(cut[0]) for cut in _LEFT_OUT.finditer(middle))
    return f"{text[:head]}\n[... {gone} characters left out ...]\n{text[tail:]}"


def weight(text: str) -> int:
    """Its bytes in UTF-8: three of them are about a token, of code as of Chinese."""
    return len(text) if text.isascii() else len(text.encode(errors="replace"))


def trimmed(answer: str, limit: int) -> str:
    """An answer up to its first repeated line, and to `limit` characters.

    A model that goes round in circles says the same line again; lines inside a fenced block of
    code may recur, and so may short ones.
    """
    kept: list[str] = []
    seen: set[str] = set()
    fenced = False
    for line in answer.strip().splitlines():
        bare = line.strip()
        if bare.startswith("```"):
            fenced = not fenced
        elif not fenced and len(bare) >= SHORTEST_REPEAT:
            if bare in seen:
                break
            seen.add(bare)
        kept.append(line)
    text = "\n".join(kept).strip()
    return text if len(text) <= limit else text[: limit - 4].rstrip() + " ..."


def one_line(text: str, limit: int) -> str:
    """`text` on one line, without marks of lists, within `limit` characters, cut at a word."""
    flat = " ".join(_BULLET.sub("", text).split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 4].rsplit(" ", 1)[0] + " ..."
