"""Why a run failed, by the structured parts of its end. Pure.

The first of these causes that applies: the limit that was hit, the signal, an exit code that means
a signal, the exception that ended the program, pytest's report, an exception that the program
printed. Rarer forms (an exception in a thread, the program's own exception class, other test
runners) are `unknown`: the model reads the output itself (ADR 45).

See ADR 45.
"""

from __future__ import annotations

import re
import signal
from dataclasses import replace

from agents.failures.exceptions import Frame, Raised, kind_of, last_raised, raised_in
from agents.failures.failure import PROGRAM, Failure, FailureClass
from agents.texts import one_line
from sandbox.protocol import End, RunResult

SOURCE_CHARACTERS = 80
"""The length to which the failed line is cut."""

_BY_END: dict[End, tuple[FailureClass, str]] = {
    End.TIMEOUT: (FailureClass.TIMEOUT, "it ran for longer than it may"),
    End.CPU: (FailureClass.TIMEOUT, "it used more processor time than it may"),
    End.MEMORY: (FailureClass.MEMORY, "it used more memory than it may"),
    End.OUTPUT: (FailureClass.OUTPUT_FLOOD, "it printed far more than is kept"),
    End.DISK: (FailureClass.OUTPUT_FLOOD, "its files took more space than they may"),
    End.KILLED: (FailureClass.MEMORY, "it was killed from outside, probably for its memory use"),
    End.PROCESSES: (FailureClass.UNKNOWN, "all its processes and threads were in use"),
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
"""Exit codes of POSIX shells and of timeout(1). A Python program may use them, too."""
_OF_SIGNALS = 128
_VAGUE = frozenset({FailureClass.UNKNOWN, FailureClass.ASSERTION})
"""Next to an exception of these classes, pytest's report says more."""

# Output is untrusted: no pattern may take more than linear time, and numbers have a bounded length.
_COLOUR = re.compile(r"\x1b\[[\d;]{0,32}m")
_PYTEST = re.compile(
    r"^=*[ \t]*(?P<counts>(?:\d{1,9} [a-z]+, )*\d{1,9} [a-z]+|no tests ran) in \d+\.\d\ds\b.*$",
    re.MULTILINE,
)
_COUNT = re.compile(r"(\d{1,9}) (failed|errors?|passed)")
_FIRST = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+)(?: - (?P<why>.*))?$", re.MULTILINE)
_ERRORS = re.compile(r"^(?:=+ ERRORS =+$|ERROR \S)", re.MULTILINE)
_COLLECTING = re.compile(r"^_+ ERROR collecting \S+ _+$", re.MULTILINE)
_E_LINE = re.compile(r"^E {3}(?P<error>\S.*)$", re.MULTILINE)
_PYTEST_PREFIX = "E   "
_WORK = "/work/"
_LIBRARIES = ("/site-packages/", "/dist-packages/")


def classify(result: RunResult, *, shell: bool = False) -> Failure:
    """The failure of a run that did not succeed; `shell`: its exit code is the exit code of a
    command."""
    out, err = (_COLOUR.sub("", stream.text) for stream in (result.stdout, result.stderr))
    raised = last_raised(err)
    if result.end in _BY_END:
        return Failure(*_BY_END[result.end])
    if result.signal is not None:
        return _of_signal(result.signal)
    if raised is None and (failure := _of_exit_code(result.exit_code, shell=shell)):
        return failure
    report = _pytest_report(out)
    if raised and not (report and kind_of(raised) in _VAGUE):
        return _of_raised(raised)
    return report or _of_printed(out, err) or _unknown(result, out, err)


def of_verification(
    by_output: Failure, result: RunResult, *, reported: bool, failed: str | None
) -> Failure:
    """The failure of a `verify`. `by_output`: its failure by the output only, from `classify`.

    A verification that ends by itself with an exit code has failed as a test, in any language.
    Another class stays if it says more: a limit, a command that does not exist, an exception that
    ended the program or the collection of tests. `reported`: pytest reported its tests; `failed`:
    the first test that failed (`t.py::test_a: reason`).
    """
    by_signal = result.signal is not None or _of_exit_code(result.exit_code, shell=False)
    if result.end is not End.EXITED or by_signal:
        return by_output
    if failed is not None and failed.partition(": ")[0] not in by_output.cause:
        return Failure(FailureClass.TEST_FAILURE, f"a test failed: {failed}")
    tests_went_on = not reported and by_output.exception and not _ended_by_exception(result)
    if failed is not None or by_output.kind in _VAGUE or tests_went_on:
        return replace(by_output, kind=FailureClass.TEST_FAILURE)
    return by_output


def _ended_by_exception(result: RunResult) -> bool:
    """Whether stderr ends with an exception. A runner of tests prints its counts after it."""
    return raised_in(_last_line(_COLOUR.sub("", result.stderr.text))) is not None


def _of_signal(number: int) -> Failure:
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    cause = f"it was killed by {name}"
    if number == signal.SIGKILL:
        cause += ": out of memory, or killed from outside"
    return Failure(_BY_SIGNAL.get(number, FailureClass.UNKNOWN), cause)


def _of_exit_code(code: int | None, *, shell: bool) -> Failure | None:
    """The failure of an exit code that means a signal, or has a meaning in a shell."""
    if code is not None and code - _OF_SIGNALS in set(signal.Signals):
        return _of_signal(code - _OF_SIGNALS)
    return Failure(*_SHELL[code]) if shell and code in _SHELL else None


def _of_raised(raised: Raised) -> Failure:
    frame = _innermost(raised)
    if frame is None:
        return Failure(kind_of(raised), raised.line, raised.name)
    name = frame.file.removeprefix(_WORK)
    shown_name = "the program" if frame.file == PROGRAM else name
    source = f": {one_line(frame.source, SOURCE_CHARACTERS)}" if frame.source else ""
    cause = f"{raised.line} ({shown_name}, line {frame.line}{source})"
    return Failure(kind_of(raised), cause, raised.name, name, frame.line)


def _innermost(raised: Raised) -> Frame | None:
    """The innermost line of the program's own code in the traceback."""
    return next((frame for frame in reversed(raised.frames) if _is_own(frame.file)), None)


def _is_own(file: str) -> bool:
    library = any(part in file for part in _LIBRARIES)
    return file == PROGRAM or (file.startswith(_WORK) and not library)


def _pytest_report(text: str) -> Failure | None:
    """The failure in pytest's last report in `text`; if tests could not be collected, the exception
    that prevented it."""
    ends = list(_PYTEST.finditer(text))
    if not ends:
        return None
    if ends[-1]["counts"] == "no tests ran":
        return _uncollected(text) or Failure(FailureClass.TEST_FAILURE, "pytest found no tests")
    counts = {name.rstrip("s"): int(count) for count, name in _COUNT.findall(ends[-1]["counts"])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if not failed or (counts.keys() == {"error"} and not _ERRORS.search(text)):  # a linter's
        return None
    first = _FIRST.search(text)
    first_failed = f": {first['test']}: {first['why'] or 'failed'}" if first else ""
    cause = f"{failed} of {failed + counts.get('passed', 0)} tests failed{first_failed}"
    return _uncollected(text) or Failure(FailureClass.TEST_FAILURE, cause)


def _uncollected(text: str) -> Failure | None:
    heading = _COLLECTING.search(text)
    lines = _E_LINE.finditer(text, heading.end()) if heading else ()
    exceptions = (raised_in(line["error"]) for line in lines)
    errors = (error for error in exceptions if error and error.name.endswith("Error"))
    return next(map(_of_raised, errors), None)


def _of_printed(out: str, err: str) -> Failure | None:
    """A traceback on stdout, or a last line that names an exception."""
    if raised := last_raised(out):
        return _of_raised(raised)
    for text in (err, out):
        raised = raised_in(_last_line(text).removeprefix(_PYTEST_PREFIX))
        if raised and kind_of(raised) is not FailureClass.UNKNOWN:
            return _of_raised(raised)
    return None


def _unknown(result: RunResult, out: str, err: str) -> Failure:
    last_line = _last_line(err) or _last_line(out)
    code = f"exit code {result.exit_code}"
    cause = f"{code}: {last_line}" if last_line else f"{code} without any output"
    return Failure(FailureClass.UNKNOWN, cause)


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
