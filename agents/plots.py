"""Whether a task asks for a picture, and whether there is one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

IMAGES = (".png", ".jpg", ".jpeg", ".svg", ".pdf", ".gif", ".webp")

_PICTURE = r"""
    plot(?:s|ted|ting)? | chart(?:s|ed|ing)? | histograms? | heat\s?maps? | scatter\s?plots?
  | visuali[sz](?:e|es|ed|ing|ation|ations) | matplotlib | pyplot | seaborn
"""
_TOLD = "novel | story | stories | film | movie | book | play"
_ASKED = re.compile(rf"(?<![\w-])(?:{_PICTURE})(?![\w(-])", re.IGNORECASE | re.VERBOSE)
"""By whole words; with a parenthesis right behind it, it is the name of a function."""
_NOT_ASKED = re.compile(
    rf"""
    (?<!\w)(?:no|not|never|without|don't|do\s+not|avoid|skip)\s+(?:\w+\s+){{0,2}}(?:{_PICTURE})(?!\w)
  | (?<!\w)plots?\s+(?:of|from|in)\s+(?:\w+\s+){{0,2}}(?:{_TOLD})(?!\w)
  | (?<!\w)(?:ascii|text)[\s-]+(?:\w+\s+)?(?:{_PICTURE})(?!\w)
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Turned down, or a word of another trade."""


def asks_for_plot(task: str) -> bool:
    """Whether `task` wants a picture saved: by whole words, not by letters inside of words."""
    return _ASKED.search(_NOT_ASKED.sub(" ", task)) is not None


def has_image(names: Iterable[str]) -> bool:
    """Whether one of the files is a picture."""
    return any(name.lower().endswith(IMAGES) for name in names)
