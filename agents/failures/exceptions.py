"""Reads exceptions in CPython's tracebacks, and derives the class of a failure from them. Pure.

The last exception of a chain or a group counts. The traceback of a SyntaxError may have no
header. A builtin exception is classified by its base classes, an exception of a library by its
name. No library is imported for that.
"""

from __future__ import annotations

import builtins
import errno
import re
from dataclasses import dataclass, replace

from agents.failures.failure import FailureClass

_BY_BUILTIN: tuple[tuple[type[BaseException], FailureClass], ...] = (
    (SyntaxError, FailureClass.SYNTAX),
    (ImportError, FailureClass.IMPORT),
    (TypeError, FailureClass.TYPE),
    (NameError, FailureClass.NAME),
    (AttributeError, FailureClass.NAME),
    (LookupError, FailureClass.KEY),
    (ValueError, FailureClass.VALUE),
    (AssertionError, FailureClass.ASSERTION),
    (RecursionError, FailureClass.RECURSION),
    (ZeroDivisionError, FailureClass.ZERO_DIVISION),
    (ArithmeticError, FailureClass.VALUE),
    (MemoryError, FailureClass.MEMORY),
    (TimeoutError, FailureClass.TIMEOUT),
    (ConnectionError, FailureClass.NETWORK_DENIED),
    (OSError, FailureClass.FILE),
)
"""The first base that matches."""

_BY_NAME: dict[str, FailureClass] = {
    name: kind
    for kind, names in {
        FailureClass.TYPE: "UFuncTypeError _UFuncNoLoopError _UFuncBinaryResolutionError",
        FailureClass.NAME: "FrozenInstanceError UndefinedVariableError",
        FailureClass.KEY: "NoSectionError NoOptionError ZoneInfoNotFoundError InvalidIndexError",
        FailureClass.VALUE: "JSONDecodeError TOMLDecodeError StatisticsError InvalidOperation "
        "ParseError ExpatError UnpicklingError BadZipFile struct.error re.error zlib.error "
        "binascii.Error _csv.Error LinAlgError AxisError ParserError EmptyDataError MergeError",
        FailureClass.FILE: "UnsupportedOperation SameFileError shutil.Error",
        FailureClass.ZERO_DIVISION: "DivisionByZero DivisionUndefined",
        FailureClass.TIMEOUT: "TimeoutExpired",
        FailureClass.MEMORY: "_ArrayMemoryError",
        FailureClass.NETWORK_DENIED: "gaierror herror URLError HTTPError RemoteDisconnected "
        "SSLError ConnectTimeout ConnectError NewConnectionError MaxRetryError",
    }.items()
    for name in names.split()
}
"""Exceptions of the standard library, numpy, pandas and HTTP clients; with the module if the name
alone is too common."""

_ERRNO = re.compile(r"^\[Errno (-?\d{1,9})\]")
_BY_ERRNO: dict[int, FailureClass] = {
    **dict.fromkeys((errno.ENOSPC, errno.EFBIG, errno.EDQUOT), FailureClass.OUTPUT_FLOOD),
    **dict.fromkeys((errno.ENETUNREACH, errno.EHOSTUNREACH), FailureClass.NETWORK_DENIED),
    errno.ENOMEM: FailureClass.MEMORY,
    errno.EAGAIN: FailureClass.UNKNOWN,  # no more processes: no file's fault
    errno.EPIPE: FailureClass.UNKNOWN,  # the reader of its output has ended: `| head`
}


def kind_of(raised: Raised) -> FailureClass:
    """The class of failure of an exception; UNKNOWN if its type does not say."""
    last = raised.name.rpartition(".")[2]
    if kind := _BY_NAME.get(raised.name) or _BY_NAME.get(last):
        return kind
    base = getattr(builtins, last, None)
    if not (isinstance(base, type) and issubclass(base, BaseException)):
        return FailureClass.UNKNOWN
    number = _ERRNO.match(raised.message) if issubclass(base, OSError) else None
    if number and (kind := _BY_ERRNO.get(int(number[1]))):
        return kind
    kinds = (kind for builtin, kind in _BY_BUILTIN if issubclass(base, builtin))
    return next(kinds, FailureClass.UNKNOWN)


_BAR = re.compile(r"^ *[|+] ", re.MULTILINE)
"""The mark before each line of an exception group."""
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
    last: Raised | None = None
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
                last = replace(raised, frames=tuple(frames))
            frames, headed = [], False
        elif frames and not frames[-1].source:
            frames[-1] = replace(frames[-1], source=line.strip())
    return last


def raised_in(line: str) -> Raised | None:
    """The exception that a line names, like the last line of a traceback."""
    match = _RAISED.match(line)
    return Raised(match["name"], match["message"] or "") if match else None
