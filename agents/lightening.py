"""Lightening: messages with less of what is spare in them (`agents.spare`). Pure.

What matters least goes first, and of parts that matter alike the middle of the longest: all are cut
to the same length, the greatest that will do. Between head and tail it says how much was left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from langchain_core.messages import BaseMessage

from agents.spare import Rank, Spare, spare_in
from agents.texts import head_and_tail, weight

LEAST: Final = 100
_STEPS: Final[Sequence[tuple[Rank, int]]] = (
    ("old", 400),
    ("names", 1_000),
    ("output", 800),
    ("old", LEAST),
    ("names", 200),
    ("output", 300),
    ("plan", 200),
    ("words", 600),
    ("output", LEAST),
    ("plan", LEAST),
    ("words", LEAST),
    ("old", 0),
    ("output", 0),
)
"""What goes, in this order, and how many characters of each part stay."""

M = TypeVar("M", bound=BaseMessage)
Group = tuple[Rank, int]
"""The parts of one rank in one message: (rank, the message's place). The earlier go first."""


def lightened(messages: Sequence[M], over: int) -> list[M]:
    """`messages` without `over` bytes of what is spare; without all of it, where that is less."""
    if over <= 0:
        return list(messages)
    groups = _groups(messages)
    limits: dict[Group, int] = {}
    for rank, least in _STEPS:
        for group, texts in groups.items():
            if group[0] != rank or over <= 0:
                continue
            had = _saved(texts, limits[group]) if group in limits else 0
            limits[group] = _limit(texts, least, had + over)
            over -= _saved(texts, limits[group]) - had
    return [_cut(message, place, limits) for place, message in enumerate(messages)]


def _groups(messages: Sequence[BaseMessage]) -> dict[Group, list[str]]:
    found: defaultdict[Group, list[str]] = defaultdict(list)
    for place, message in enumerate(messages):
        for part in spare_in(message):
            found[part.rank, place].append(_text(message, part))
    return found


def _limit(texts: Sequence[str], least: int, wanted: int) -> int:
    """The greatest length in characters that saves so many bytes; the least, where none does."""
    low, high = least, max(least, *map(len, texts))
    while low < high:
        middle = (low + high + 1) // 2
        if _saved(texts, middle) >= wanted:
            low = middle
        else:
            high = middle - 1
    return low


def _saved(texts: Sequence[str], limit: int) -> int:
    return sum(weight(text) - weight(_short(text, limit)) for text in texts)


def _short(text: str, limit: int) -> str:
    short = head_and_tail(text, limit)
    return short if len(short) < len(text) else text


def _cut(message: M, place: int, limits: Mapping[Group, int]) -> M:
    parts = [part for part in spare_in(message) if (part.rank, place) in limits]
    if not parts:
        return message
    pieces, behind = [], 0
    for part in parts:
        pieces.append(str(message.content)[behind : part.start])
        pieces.append(_short(_text(message, part), limits[part.rank, place]))
        behind = part.end
    pieces.append(str(message.content)[behind:])
    return message.model_copy(update={"content": "".join(pieces), "additional_kwargs": {}})


def _text(message: BaseMessage, part: Spare) -> str:
    return str(message.content)[part.start : part.end]
