"""How difficult a task looks."""

from __future__ import annotations

import pytest

from agents.difficulty import Difficulty, Looks, Thresholds, looks

AT = Thresholds()
CHART = """
Read the CSV file of sales, group the rows by region and by month, draw a bar chart of the totals
with a legend, save it, and tell which region grew most over the year.
"""
HARD = """
Build a small distributed key-value store.
- a server with a wire protocol of its own
- replication to two followers
- a consensus among them when the leader is gone
- a client that retries
- a benchmark of it

It has classes for each part, and tests. The threads must never deadlock.
"""


@pytest.mark.parametrize(
    ("task", "verdict"),
    [
        ("Print hello world", Difficulty.SIMPLE),
        ("Write a function that reverses a string", Difficulty.MEDIUM),  # not "reverse"
        ("Sort the lines of a file and count duplicates", Difficulty.SIMPLE),
        ("Check whether a number is prime", Difficulty.SIMPLE),
        (HARD, Difficulty.HARD),
        ("Simple asyncio scheduler, short", None),  # short and simple words, and hard ones
        (CHART, Difficulty.MEDIUM),
    ],
)
def test_verdicts(task: str, verdict: Difficulty | None) -> None:
    seen = looks(task)
    assert seen.verdict(AT) is verdict, str(seen)


def test_words_count_whole() -> None:
    """The system that this comes from found an `ast` in "fast" and a class in "classic"."""
    assert "hard words" not in str(looks("The fastest classical cachet, theatrical and blast"))
    assert looks("Walk the ast").hard == 0.2
    assert looks("A thread-safe queue").hard == 0.15


def test_case_does_not_count() -> None:
    assert looks("PRINT HELLO") == looks("print hello")


def test_a_plan_and_files_of_the_callers_own_count() -> None:
    assert looks("Do it", steps=5).hard == 0.3
    assert looks("Do it", steps=3, files=9).hard == pytest.approx(0.35)


def test_thresholds_are_the_operators() -> None:
    seen = Looks(simple=0.25, hard=0.5, why=())
    assert seen.verdict(AT) is Difficulty.MEDIUM
    assert seen.verdict(Thresholds(simple=0.2)) is None
    assert seen.verdict(Thresholds(simple=0.2, looks_hard=0.6)) is Difficulty.SIMPLE
    assert seen.verdict(Thresholds(hard=0.5)) is Difficulty.HARD
