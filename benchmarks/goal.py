"""Goal: the bound of a benchmark's figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a figure: at most, or at least where more is better."""

    bound: float
    at_least: bool = False

    def met(self, figure: float) -> bool:
        """Whether a figure is on the right side of the bound."""
        return figure >= self.bound if self.at_least else figure <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}"


def judged(goal: Goal | None, figure: float) -> tuple[str, str]:
    """A table's cells: the goal, and whether it is met; empty without a goal."""
    if goal is None:
        return "", ""
    return str(goal), "met" if goal.met(figure) else "missed"
