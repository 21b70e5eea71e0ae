"""Section: a text of the critic's request that may be left out."""

from __future__ import annotations

from dataclasses import dataclass

from agents.context.ranked import MOST_BUDGET
from agents.prompts import Ranked, fenced
from agents.texts import head_and_tail

PEOPLE, CHANGE, VERIFICATION, TESTS, INPUTS, RUNS, DATA = (100_000 * n for n in range(1, 8))
"""The ranks of the parts of the request. Sections of one part count from there."""


@dataclass(frozen=True, slots=True)
class Section:
    """A text with the line above it."""

    heading: str
    part: Ranked


def make_section(heading: str, text: str, rank: int, *, is_indivisible: bool = False) -> Section:
    """The section of a text that the job or its model wrote; see `agents.prompts.Ranked`."""
    return Section(heading, fenced_part(text, rank, is_indivisible=is_indivisible))


def fenced_part(text: str, rank: int, *, is_indivisible: bool = False) -> Ranked:
    """A text that the job or its model wrote, in a fence; empty if it is."""
    fenced_text = fenced(head_and_tail(text, MOST_BUDGET)) if text else ""
    return ranked_text(fenced_text, rank, is_indivisible=is_indivisible)


def ranked_text(text: str, rank: int, *, is_indivisible: bool = False) -> Ranked:
    """A text without a line above it; its size replaces it."""
    return Ranked(text, rank, f"[{len(text):,} characters, not shown]", is_indivisible)
