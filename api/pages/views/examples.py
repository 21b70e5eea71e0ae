"""Example tasks of the form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A task and its short name. `recording` is its model where no provider's key is set."""

    name: str
    task: str
    recording: str = ""


EXAMPLES = (
    Example(
        "Binary search",
        "Write a binary search and test it on 20 numbers.",
        "recording:demo-binary-search",
    ),
    Example(
        "k-means with a plot",
        "Implement k-means from scratch (no scikit-learn), cluster 150 points in 3 groups, and "
        "save a plot with the centroids marked X.",
        "recording:demo-kmeans",
    ),
    Example(
        "Fix a function",
        "Fix this function and test it: def divide(a, b): return a / b -- it crashes when called "
        "with (10, 0).",
        "recording:demo-bug-fix",
    ),
    Example(
        "A parser with tests",
        "Write a parser for ISO 8601 durations such as P3DT4H5M into seconds. Test weeks, "
        "fractions and texts that are not durations.",
    ),
)
