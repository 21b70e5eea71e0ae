"""Why a run failed, told by what is structured about its end; by its words only at last. Pure.

In this order, the first that says something wins: the limit that was hit, the signal, an exit code
that stands for one, the exception that ended the program, a test report, an exception that the
program itself printed, the interpreter's messages in its last line.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Mapping
from dataclasses import replace

from agents.failures.exceptions import Sources, kind_of
from agents.failures.failure import PROGRAM, Failure, FailureClass
from agents.failures.reports import pytest_report, report_in, unittest_report
from agents.failures.tracebacks import Frame, Raised, decisive, raised_in, tracebacks
from agents.failures.words import kind_of_words
from agents.texts import colourless, one_line
from sandbox.protocol import End, RunResult

SOURCE_SHOWN = 80
"""Characters of the line that failed."""

_BY_END: dict[End, tuple[FailureClass, str]] = {
    End.TIMEOUT: (FailureClass.TIMEOUT, "it ran for longer than it may"),
    End.CPU: (FailureClass.TIMEOUT, "it used more processor time than it may"),
    End.MEMORY: (FailureClass.MEMORY, "it used more memory than it may"),
    End.OUTPUT: (FailureClass.OUTPUT_FLOOD, "it printed far more than is kept"),
    End.DISK: (FailureClass.OUTPUT_FLOOD, "its files took more space than they may"),
    End.KILLED: (FailureClass.MEMORY, "it was killed from outside, most likely for its memory"),
}
_BY_SIGNAL: dict[int, FailureClass] = {
    signal.SIGKILL: FailureClass.MEMORY,
    signal.SIGXCPU: FailureClass.TIMEOUT,
    signal.SIGALRM: FailureClass.TIMEOUT,
    signal.SIGXFSZ: FailureClass.OUTPUT_FLOOD,
}
_SHELL: dict[int, tuple[FailureClass, str]] = {
    124: (FailureClass.TIMEOUT, "a command ran into its time limit"),
    126: (FailureClass.FILE, "a command is there, but may not be run"),
    127: (FailureClass.FILE, "a command was not found"),
}
"""Exit codes of POSIX shells and of timeout(1), which a Python program may choose for itself."""
_OF_SIGNALS = 128
_PYTEST_SAYS = "E   "
"""Before the exception that ended a conftest.py, of which there is no report."""
_STACK = re.compile(
    r"^Fatal Python error: .*(?:stack overflow|_Py_CheckRecursiveCall)", re.MULTILINE
)
_CHILD = re.compile(r"died with <Signals\.\w+: (\d{1,9})>")
_WORK = "/work/"
_LIBRARIES = ("/site-packages/", "/dist-packages/")


def classify(result: RunResult, sources: Sources, *, shell: bool = False) -> Failure:
    """The failure of a run that did not succeed. `sources` are the program's, by path; `shell`: it
    was a command line."""
    result = _colourless(result)
    return (
        _by_limit(result)
        or _by_signal(result, result.signal)
        or _by_exit_code(result, _SHELL if shell else {})
        or _by_traceback(result, sources)
        or _by_report(result, sources)
        or _of_raised(decisive(tracebacks(result.stdout.text)), sources)
        or _by_words(result, sources)
        or _unknown(result)
    )


def _colourless(result: RunResult) -> RunResult:
    out, err = (
        replace(each, text=colourless(each.text)) for each in (result.stdout, result.stderr)
    )
    return replace(result, stdout=out, stderr=err)


def _by_limit(result: RunResult) -> Failure | None:
    told = _BY_END.get(result.end)
    return Failure(*told) if told else None


def _by_signal(result: RunResult, number: int | None) -> Failure | None:
    if number is None:
        return None
    if _STACK.search(result.stderr.text):
        return Failure(FailureClass.RECURSION, "the interpreter's stack overflowed")
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    kind = _BY_SIGNAL.get(number, FailureClass.UNKNOWN)
    why = ": out of memory, or killed from outside" if number == signal.SIGKILL else ""
    return Failure(kind, f"it was killed by {name}{why}")


def _by_exit_code(
    result: RunResult, codes: Mapping[int, tuple[FailureClass, str]]
) -> Failure | None:
    """An exit code that stands for a signal, or one of these; a traceback knows better, if there is
    one."""
    code = result.exit_code
    if code is None or decisive(tracebacks(result.stderr.text)):
        return None
    if code - _OF_SIGNALS in set(signal.Signals):
        return _by_signal(result, code - _OF_SIGNALS)
    told = codes.get(code)
    return Failure(*told) if told else None


def _by_traceback(result: RunResult, sources: Sources) -> Failure | None:
    """By the exception on stderr; one that only tells of tests or of a child lets these speak."""
    text = result.stderr.text
    raised = decisive(tracebacks(text))
    if raised is None or unittest_report(text, last=True):
        return None
    report = pytest_report(result.stdout.text)
    if raised.name == "AssertionError" and report:
        return None
    if raised.name.endswith("CalledProcessError"):
        return _of_child(raised, result, sources)
    return _of_raised(raised, sources)


def _of_child(raised: Raised, result: RunResult, sources: Sources) -> Failure | None:
    """A program that a program ran: its own signal, report or traceback, if it has left one."""
    died = _CHILD.search(raised.message)
    if died:
        return _by_signal(result, int(died[1]))
    before = [each for each in tracebacks(result.stderr.text) if each.name != raised.name]
    return _by_report(result, sources) or _of_raised(decisive(before), sources)


def _by_report(result: RunResult, sources: Sources) -> Failure | None:
    report = report_in(result.stdout.text, result.stderr.text)
    if report is None:
        return None
    failed = Failure(FailureClass.TEST_FAILURE, report.cause)
    return _of_raised(report.broken, sources) or failed


def _of_raised(raised: Raised | None, sources: Sources) -> Failure | None:
    if raised is None:
        return None
    told = Failure(kind_of(raised, sources), "; ".join(_told(raised)), raised.name)
    frame = _innermost(raised)
    return replace(told, file=_name(frame), line=frame.line) if frame else told


def _told(raised: Raised) -> Iterator[str]:
    place = _place(raised)
    yield raised.line + (f" ({place})" if place else "")
    for leaf in raised.leaves[:3]:
        yield f"in it {leaf.line}"
    if raised.before is not None and raised.before.line != raised.line:
        yield f"raised for {raised.before.line}"


def _place(raised: Raised) -> str:
    frame = _innermost(raised)
    if frame is None:
        return ""
    file = "the program" if frame.file == PROGRAM else _name(frame)
    source = f": {one_line(frame.source, SOURCE_SHOWN)}" if frame.source else ""
    return f"{file}, line {frame.line}{source}"


def _innermost(raised: Raised) -> Frame | None:
    """The innermost line of the program's own that the traceback shows."""
    own = (frame for frame in reversed(raised.frames) if _is_own(frame.file))
    return next(own, None)


def _name(frame: Frame) -> str:
    return frame.file.removeprefix(_WORK)


def _is_own(file: str) -> bool:
    library = any(part in file for part in _LIBRARIES)
    return file == PROGRAM or (file.startswith(_WORK) and not library)


def _by_words(result: RunResult, sources: Sources) -> Failure | None:
    for stream in (result.stderr, result.stdout):
        last = _last_line(stream.text).removeprefix(_PYTEST_SAYS)
        raised = raised_in(last)
        kind = kind_of(raised, sources) if raised else FailureClass.UNKNOWN
        if raised and kind is not FailureClass.UNKNOWN:
            return Failure(kind, last, raised.name)
        if said := kind_of_words(last):
            return Failure(said, last)
    return None


def _unknown(result: RunResult) -> Failure:
    if result.end is End.PROCESSES:
        return Failure(FailureClass.UNKNOWN, "all its processes and threads were in use")
    said = _last_line(result.stderr.text) or _last_line(result.stdout.text)
    code = f"exit code {result.exit_code}"
    return Failure(FailureClass.UNKNOWN, f"{code}: {said}" if said else f"{code} without a word")


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
