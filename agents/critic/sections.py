"""Section: a text of the critic's request that may be left out."""

from __future__ import annotations

from dataclasses import dataclass

from agents.context.ranked import MOST_BUDGET
from agents.prompts import Ranked
from agents.texts import head_and_tail

PEOPLE, CHANGE, VERIFICATION, TESTS, INPUTS, RUNS, DATA = (100_000 * n for n in range(1, 8))
"""The ranks of the parts of the request. Sections of one part count from there."""


@dataclass(frozen=True, slots=True)
class Section:
    """A text with the line above it."""

    heading: str
    part: Ranked


def section(heading: str, text: str, rank: int, *, whole: bool = False) -> Section:
    """See `agents.prompts.Ranked`."""
    text = text.rstrip("\n") or "(empty)"
    stand_in = f"[{heading}: {len(text):,} characters, not shown]"
    return Section(heading, Ranked(head_and_tail(text, MOST_BUDGET), rank, stand_in, whole))
