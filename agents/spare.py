"""Spare: which parts of a prompt a model can do without. Pure.

A prompt marks them itself: `{{ text | spare("output") }}`, and `{% filter spare("old") %}` around
more than one. What is not marked is never left out: the task, what was answered about it, what the
tests take for granted, and our own words. A mark changes no letter of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

Rank = Literal["old", "names", "output", "plan", "words"]
"""What is past (earlier jobs, runs of earlier revisions); lists of names; what files and programs
say; the steps of a plan; what somebody said of the work. `agents.lightening` has their order."""
_KEY: Final = "spare"
"""Where a message has its marks, [[start, end, rank], ...]. No provider's client sends them."""


@dataclass(frozen=True, slots=True)
class Spare:
    """A part of a text, from `start` up to `end` in characters."""

    start: int
    end: int
    rank: Rank


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text for a model, and what is spare in it: in order, no part within another."""

    text: str
    spare: tuple[Spare, ...] = ()

    def then(self, other: Prompt) -> Prompt:
        """Both, the other one on a line of its own."""
        start = len(self.text) + 1
        moved = (Spare(start + each.start, start + each.end, each.rank) for each in other.spare)
        return Prompt(f"{self.text}\n{other.text}", (*self.spare, *moved))

    def message(self) -> HumanMessage:
        """As a model is sent it."""
        return HumanMessage(self.text, additional_kwargs=_marks(self.spare))


def past(text: str) -> AIMessage:
    """A reply that is there to be looked back at, and no more."""
    return AIMessage(text, additional_kwargs=_marks([Spare(0, len(text), "old")]))


def spare_in(message: BaseMessage) -> list[Spare]:
    """What is spare in a message: nothing, where it bears no marks."""
    return [Spare(*mark) for mark in message.additional_kwargs.get(_KEY, ())]


def marked(text: str, rank: str, mark: str) -> str:
    """A part of a prompt between marks, to be `read`. `mark` occurs in no text."""
    return f"{mark}{rank}:{text}{mark}"


def read(text: str, mark: str) -> Prompt:
    """The prompt whose parts are between marks. Raises ValueError for one within another, and for
    a rank that there is not."""
    length, pieces, spare = 0, [], []
    for place, piece in enumerate(text.split(mark)):
        said = piece
        if place % 2:
            rank, colon, said = piece.partition(":")
            if not colon or rank not in get_args(Rank):
                raise ValueError(f"no part of a prompt: {piece[:40]!r}")
            spare.append(Spare(length, length + len(said), cast("Rank", rank)))
        pieces.append(said)
        length += len(said)
    return Prompt("".join(pieces), tuple(spare))


def _marks(spare: Sequence[Spare]) -> dict[str, object]:
    return {_KEY: [[each.start, each.end, each.rank] for each in spare]} if spare else {}
