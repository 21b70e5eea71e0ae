"""The goal of a benchmark's figure: a bound that it should not exceed."""

from __future__ import annotations


def judged(goal: float | None, figure: float) -> tuple[str, str]:
    """A table's cells: the goal, and whether it is met; empty without a goal."""
    if goal is None:
        return "", ""
    return f"≤ {goal:g}", "met" if figure <= goal else "missed"
