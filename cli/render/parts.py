"""Part: a piece of output in a form that fits a terminal, a pipe and Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import TypeAlias


class Tone(StrEnum):
    """The kind of a line, which decides its mark and colour."""

    PLAIN = "plain"
    QUIET = "quiet"
    GOOD = "good"
    BAD = "bad"
    WARN = "warn"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Line:
    """A label and its text."""

    label: str
    text: str
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Steps:
    """A numbered list. `states` has the state of each item (todo, begun, done), and `times` has a
    duration of each item, if known."""

    items: tuple[str, ...]
    states: tuple[str, ...] = ()
    times: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[tuple[str, str, str], ...]:
        """Each item with its state and its time; '' for an unknown one."""
        count = len(self.items)
        known = self.states[:count], self.times[:count]
        return tuple(zip_longest(self.items, *known, fillvalue=""))


@dataclass(frozen=True, slots=True)
class Code:
    """A program, or a command line; `language` as pygments names it."""

    text: str
    language: str = "python"


@dataclass(frozen=True, slots=True)
class Output:
    """The output of a program; `error`: it is stderr."""

    text: str
    error: bool = False


@dataclass(frozen=True, slots=True)
class Prose:
    """A text of several lines that belongs to the line above it."""

    text: str


Part: TypeAlias = Line | Steps | Code | Output | Prose
