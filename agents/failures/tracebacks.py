"""Reading CPython's tracebacks out of what a program printed. Pure.

The forms are those of Python 3.11 to 3.14 (`traceback.TracebackException.format`): plain ones, the
headless one of a SyntaxError, chains, exception groups, those of threads and of destructors; and
what is left of them where the middle of a long output was dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

_HEADER = re.compile(r"^Traceback \(most recent call last\):")
_FRAME = re.compile(r'^\s+File "(?P<file>[^"]*)", line (?P<line>\d{1,9})')
_RAISED = re.compile(r"^(?P<name>[^\W\d]\w*(?:\.(?:[^\W\d]\w*|<locals>))*)(?:: ?(?P<message>.*))?$")
_GROUP = re.compile(r"^\s*\+ Exception Group Traceback \(most recent call last\):")
_BAR = re.compile(r"^\s*[|+] ?")
_SECTION = re.compile(r"^\s*\+(?:-\+)?-{8,} (?:\d+|\.\.\.) -{8,}$")
_COUNTED = re.compile(r"\(\d+ sub-exceptions?\)$")
_DROPPED = re.compile(r"^\[\.\.\. \d+ (?:bytes|characters) left out \.\.\.\]$")
"""Where a long output was cut: `sandbox.outcome.stream`."""
_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_ASIDE = (
    "Exception ignored in",
    "Exception ignored while",
    "--- Logging error ---",
)
_ENDED = re.compile(
    r"Exception in (?:thread|callback) |Task exception was never retrieved"
    r"|future: <Task|Process [\w:-]*Process-[\d:]+:$"
)
"""What stands before the traceback of an exception that did not end the program: in _ENDED, one
that nobody caught, and that ended something else."""
_HEADLESS = frozenset({"SyntaxError", "IndentationError", "TabError"})


@dataclass(frozen=True, slots=True)
class Frame:
    """A place in a traceback; `source` is the text of its line, where it was printed."""

    file: str
    line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception as a traceback shows it.

    `name` is as printed: qualified by its module, unless that is `builtins` or `__main__`. `frames`
    are outermost first. `before` is the exception that it was raised for or while
    handling; `leaves` are a group's exceptions that are no groups. `aside`: it did not end the
    program; `lost`: but a thread, a task or a child process.
    """

    name: str
    message: str
    frames: tuple[Frame, ...] = ()
    before: Raised | None = None
    leaves: tuple[Raised, ...] = ()
    aside: bool = False
    lost: bool = False

    @property
    def line(self) -> str:
        """Its last line, as printed."""
        return f"{self.name}: {self.message}" if self.message else self.name


@dataclass(slots=True)
class _Reader:
    """What is known at a line: the block at hand, and what stood before it."""

    found: list[Raised] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    headed: bool = False
    aside: bool = False
    lost: bool = False
    linked: bool = False
    broken: bool = False

    def begin(self) -> None:
        self.frames, self.headed = [], True

    def end(self, raised: Raised) -> None:
        before = self.found[-1] if self.linked and self.found else None
        lost = self.lost or (before is not None and before.lost)
        aside = self.aside or lost or (before is not None and before.aside)
        self.found.append(replace(raised, before=before, aside=aside, lost=lost))
        self.frames = []
        self.headed = self.aside = self.lost = self.linked = self.broken = False


def tracebacks(text: str) -> list[Raised]:
    """The exceptions whose tracebacks are in `text`, in the order of their printing."""
    reader = _Reader()
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        if _GROUP.match(lines[at]):
            end = _group_end(lines, at)
            if raised := _group(lines[at + 1 : end]):
                reader.end(raised)
            at = end
            continue
        _read(reader, lines[at])
        at += 1
    return reader.found


def raised_in(line: str) -> Raised | None:
    """The exception that a line by itself names, as the last line of a traceback does."""
    match = _RAISED.match(line)
    return Raised(match["name"], match["message"] or "") if match else None


def decisive(found: Sequence[Raised]) -> Raised | None:
    """The exception that ended the program, as far as one can see: the last of the main thread."""
    own = [raised for raised in found if not raised.aside]
    return (own or [*found])[-1] if found else None


def _read(reader: _Reader, line: str) -> None:
    if _HEADER.match(line):
        reader.begin()
    elif frame := _FRAME.match(line):
        reader.frames.append(Frame(frame["file"], int(frame["line"])))
    elif _DROPPED.match(line):
        reader.broken = True
    elif line.strip() in _LINKS:
        reader.linked = True
    elif line.startswith(_ASIDE):
        reader.aside = True
    elif _ENDED.match(line):
        reader.lost = True
    elif line and not line[0].isspace():
        _outermost(reader, line)
    elif reader.frames and not reader.frames[-1].source:
        reader.frames[-1] = replace(reader.frames[-1], source=line.strip())


def _outermost(reader: _Reader, line: str) -> None:
    """A line that is not indented: the end of a block, or none of a traceback's."""
    match = _RAISED.match(line)
    block = reader.headed or reader.broken or (match and match["name"] in _HEADLESS)
    if match and reader.frames and block:
        reader.end(Raised(match["name"], match["message"] or "", tuple(reader.frames)))
    elif not reader.broken:
        reader.frames, reader.headed = [], False


def _group_end(lines: Sequence[str], start: int) -> int:
    """The first line behind the group that begins at `start`: all of its lines bear a bar."""
    end = start + 1
    while end < len(lines) and (_BAR.match(lines[end]) or not lines[end].strip()):
        end += 1
    return end


def _group(lines: Sequence[str]) -> Raised | None:
    """The exception group in these lines, with what is in it."""
    own, *inner = _sections(lines)
    outer = tracebacks("\n".join(["Traceback (most recent call last):", *own]))
    leaves = [leaf for section in inner if (leaf := _leaf(section))]
    if not outer:
        return None
    return replace(outer[-1], leaves=tuple(leaves))


def _sections(lines: Sequence[str]) -> Iterator[list[str]]:
    """The lines of the group itself, then those of each exception in it, without their bars."""
    section: list[str] = []
    for line in lines:
        if _SECTION.match(line):
            yield section
            section = []
        else:
            section.append(_BAR.sub("", line, count=1))
    yield section


def _leaf(lines: Sequence[str]) -> Raised | None:
    """The exception in a section; None for a group, whose own exceptions have sections too."""
    found = tracebacks("\n".join(lines))
    first = next((raised_in(line) for line in lines if raised_in(line)), None)
    raised = found[-1] if found else first
    return None if raised is None or _COUNTED.search(raised.message) else raised
