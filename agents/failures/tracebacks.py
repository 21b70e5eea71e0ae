"""Reads CPython's tracebacks in the output of a program. Pure.

Plain ones and that of a SyntaxError without a header; of a chain or a group the last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_BAR = re.compile(r"^ *[|+] ", re.MULTILINE)
"""Before each line of an exception group."""
_HEADER = re.compile(r"^ *(?:Exception Group )?Traceback \(most recent call last\):")
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]*)", line (?P<line>\d{1,9})')
_RAISED = re.compile(r"^(?P<name>[^\W\d]\w*(?:\.(?:[^\W\d]\w*|<locals>))*)(?:: ?(?P<message>.*))?$")
_HEADLESS = frozenset({"SyntaxError", "IndentationError", "TabError"})


@dataclass(frozen=True, slots=True)
class Frame:
    """A line in a traceback; `source` is its text, if it was printed."""

    file: str
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as a traceback shows it.

    `name` is as printed: qualified by its module, except for `builtins` and `__main__`. `frames`
    are outermost first.
    """

    name: str
    message: str
    frames: tuple[Frame, ...] = ()

    @property
    def line(self) -> str:
        """Its last line, as printed."""
        return f"{self.name}: {self.message}" if self.message else self.name


def last_raised(text: str) -> Raised | None:
    """The exception of the last traceback in `text`."""
    found: Raised | None = None
    frames: list[Frame] = []
    headed = False
    for line in _BAR.sub("", text).splitlines():
        if _HEADER.match(line):
            frames, headed = [], True
        elif frame := _FRAME.match(line):
            frames.append(Frame(frame["file"], int(frame["line"])))
        elif line and not line[0].isspace():
            raised = raised_in(line)
            if raised and frames and (headed or raised.name in _HEADLESS):
                found = replace(raised, frames=tuple(frames))
            frames, headed = [], False
        elif frames and not frames[-1].source:
            frames[-1] = replace(frames[-1], source=line.strip())
    return found


def raised_in(line: str) -> Raised | None:
    """The exception that a line names, like the last line of a traceback."""
    match = _RAISED.match(line)
    return Raised(match["name"], match["message"] or "") if match else None
