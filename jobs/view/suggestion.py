"""Suggestions: comments that replace lines of a file, in the form of GitHub and GitLab. Pure.

The text of such a comment has a fenced block: ```suggestion replaces the line of the comment, and
```suggestion:-1+2 also the line before it and the two lines after it. An empty block removes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.errors import NotShown

_BLOCK = re.compile(
    r"^ *(?P<fence>`{3,})suggestion(?::-(?P<above>\d{1,4})\+(?P<below>\d{1,4}))?[ \t]*\n"
    r"(?P<lines>(?:.*\n)*?)(?: *(?P<end>(?P=fence))[ \t]*$|.*\Z)",
    re.MULTILINE,
)
"""A block without an end reaches to the end of the text, as in Markdown. So each line is read
once."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """New lines in place of the lines from `first` to `last` of a file, counted from 1."""

    first: int
    last: int
    lines: tuple[str, ...]
    """Without their line ends."""


def read_suggestions(text: str, line: int) -> list[Suggestion]:
    """The suggestions in the text of a comment on a line."""
    return [
        Suggestion(
            line - int(block["above"] or 0),
            line + int(block["below"] or 0),
            tuple(block["lines"].split("\n")[:-1]),
        )
        for block in _BLOCK.finditer(text.replace("\r\n", "\n"))
        if block["end"]
    ]


def apply_suggestions(text: str, suggestions: Iterable[Suggestion]) -> str:
    """The text of the file with the suggested lines, which get the line ends of the lines that they
    replace. Raises NotShown if the file has no such lines, or if two suggestions overlap."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    following = len(lines) + 1
    for suggestion in sorted(suggestions, key=lambda each: each.last, reverse=True):
        if suggestion.first < 1 or suggestion.last > len(lines):
            missing = suggestion.first if suggestion.first < 1 else suggestion.last
            raise NotShown(f"the file has {len(lines)} lines, so it has no line {missing}")
        if suggestion.last >= following:
            raise NotShown(f"two suggestions replace line {suggestion.last}")
        following = suggestion.first
        replaced = lines[suggestion.first - 1 : suggestion.last]
        end = "\r\n" if replaced[0].endswith("\r\n") else "\n"
        new_lines = [f"{line}{end}" for line in suggestion.lines]
        if new_lines and not replaced[-1].endswith("\n"):
            new_lines[-1] = new_lines[-1].removesuffix(end)
        lines[suggestion.first - 1 : suggestion.last] = new_lines
    return "".join(lines)
