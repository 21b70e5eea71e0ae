"""Runs of pytest: the commands that start pytest, and its report of each test, which the plug-in
`sandbox_programs/fettle_report.py` writes. Pure.

Tests have passed only if the report says so of each test. Without pytest, without tests, with
skipped tests only, or if the process ended without a report, the run has failed with any exit code.
If pytest itself failed, the reason is in its own words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from agents.sandbox_programs.fettle_report import DETAIL, LINE, LINES, REPORT
from agents.texts import one_line
from sandbox.protocol import End, RunResult

TestOutcome = Literal["failed", "error", "not_run", "skipped", "passed"]
OUTCOMES: tuple[TestOutcome, ...] = ("failed", "error", "not_run", "skipped", "passed")
"""Worst first: the order in which tests are shown."""
BAD = OUTCOMES[:3]
MOST_TESTS = 200
FILE = REPORT.rpartition("/")[2]
INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 3, 4, 5
"""Exit codes of pytest."""
_ERROR = re.compile(
    r"[\w.]+: error: |ERROR: (?!usage:)|ImportError while|INTERNALERROR> (?!Traceback)\w|"
    r"!!! .* !!!|FAIL "
)
_MARK = re.compile(r"^(?:INTERNALERROR>|ERROR:)\s+")
_REASON = "E   "
_STYLE = re.compile(r"\x1b\[[\d;]*m")

Name = Annotated[str, AfterValidator(lambda text: text[:300])]
Detail = Annotated[str, AfterValidator(lambda text: text[:DETAIL])]
Lines = Annotated[str, AfterValidator(lambda text: text[: 3 * LINES * LINE])]
"""Tests can write to the report, so its texts are cut when they are read."""


class ReportedTest(BaseModel):
    """The outcome of one test, with place and reason of a failure."""

    id: Name
    outcome: TestOutcome
    detail: Detail = ""
    lines: Lines = ""
    """The traceback of a failure and the output of the test. A run's record does not have them."""
    seconds: float = 0.0


class PytestReport(BaseModel):
    """The report in the file. Tests can write to it, so it is validated like any input."""

    tests: list[ReportedTest] | None = None
    deselected: list[Name] = Field(default_factory=list)
    """Ids of tests that an option of the command deselected. They do not fail a job's own run."""

    @property
    def sorted(self) -> list[ReportedTest]:
        """The tests, worst first, otherwise in their order."""
        return sorted(self.tests or (), key=lambda test: OUTCOMES.index(test.outcome))

    @property
    def counts(self) -> dict[str, int]:
        """The number of tests of each outcome, worst first."""
        return dict(Counter(test.outcome for test in self.sorted))

    @property
    def first_failed(self) -> str | None:
        """The first failed test and its reason: `t.py::test_a: AssertionError`."""
        failed = next((test for test in self.tests or () if test.outcome == "failed"), None)
        return f"{failed.id}: {failed.detail or failed.outcome}" if failed else None

    def fields(self) -> dict[str, Any]:
        """For a run's record: counts by outcome, and the first tests."""
        fields = {"id", "outcome", "detail"}
        tests = [test.model_dump(include=fields) for test in self.sorted[:MOST_TESTS]]
        return {"counts": self.counts, "tests": tests}


def why_failed(report: PytestReport, result: RunResult) -> str | None:
    """Why the tests have not passed, in a few words; None if they have. Pure."""
    own_words = _failure_of_pytest(result)
    if own_words and result.exit_code in {INTERNAL_ERROR, USAGE_ERROR}:
        return own_words
    if report.tests is None:
        unreported = "pytest ended without a report: a test, or a limit, ended its process"
        return own_words or unreported
    counts = report.counts
    if any(name in counts for name in BAD):
        return counted(counts)
    if not counts:
        nothing = "no tests were found: files are named test_*.py, functions test_*"
        return nothing if result.exit_code == NO_TESTS else own_words or nothing
    if "passed" not in counts:
        return "no test has passed: all were skipped"
    return None if result.succeeded else own_words or "pytest failed, although no test did"


def _failure_of_pytest(result: RunResult) -> str | None:
    """Why pytest failed, in the words that it wrote; None if it did not, or a limit ended it."""
    if result.end is not End.EXITED or result.exit_code == 0:
        return None
    errors, output = (
        [bare for line in stream.text.splitlines() if (bare := _STYLE.sub("", line).strip())]
        for stream in (result.stderr, result.stdout)
    )
    for lines in (errors, output):
        if error_lines := [line for line in lines if _ERROR.match(line)]:
            reasons = [line for line in lines if line.startswith(_REASON)] if errors else []
            text = " ".join((error_lines[-1], *reasons[-1:]))
            return one_line(_MARK.sub("", text).strip("! "), DETAIL)
    last = errors or [line for line in output if not line.startswith("=")]
    return one_line(last[-1], DETAIL) if last else None


def report_in(changed: Mapping[str, bytes]) -> PytestReport:
    """The report among the `changed` files; an empty report if the file is missing or invalid."""
    try:
        return PytestReport.model_validate_json(changed.get(FILE, b"{}"))
    except ValidationError:
        return PytestReport()


def counted(counts: Mapping[str, int]) -> str:
    """The counts by outcome: `1 failed, 3 passed`."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
PYTHON = re.compile(r"python(3(\.\d+)?)?")
"""Names of the sandbox's interpreter, which `python` starts in any sandbox."""
_OPTION = re.compile(r"-[bBdEiIOPqRsuvx]+|-[WX].+|--check-hash-based-pycs=.*")
"""An option of the interpreter after which it still finds the installed packages."""
_WITH_VALUE = ("-W", "-X")
_MODULE = ("-m", "pytest")


def pytest_over(paths: Iterable[str]) -> list[str]:
    """The words that start pytest if only test files are named. Tests in a folder find
    modules of a project without metadata only in the working directory, which `python -m` puts on
    the module path, here and in a clone."""
    in_folders = any("/" in path.partition("::")[0] or not _is_file(path) for path in paths)
    return ["python", "-m", "pytest"] if in_folders else ["pytest"]


def _is_file(path: str) -> bool:
    return path == "." or path.partition("::")[0].endswith(".py")


def is_assignment(word: str) -> bool:
    """Whether it sets a variable: `NAME=value`."""
    return _ASSIGNMENT.fullmatch(word) is not None


def words_of_pytest(words: Sequence[str]) -> int:
    """The number of words of a command that start pytest, with `env` before it and the options of
    Python; 0 for another program.

    The report cannot replace this: a run of pytest without a report has failed, whereas another
    program needs no report. Also, options for pytest are inserted after these words.
    """
    start = _words_of_env(words)
    if start < len(words) and words[start] == "pytest":
        return start + 1
    if start == len(words) or not PYTHON.fullmatch(words[start]):
        return 0
    at = start + 1
    while at < len(words) and (words[at] in _WITH_VALUE or _OPTION.fullmatch(words[at])):
        at += 2 if words[at] in _WITH_VALUE else 1
    return at + 2 if tuple(words[at : at + 2]) == _MODULE else 0


def _words_of_env(words: Sequence[str]) -> int:
    """The number of words of `env` and of the variables that it sets and unsets."""
    if not words or words[0] != "env":
        return 0
    at = 1
    while at < len(words):
        if words[at] in {"-u", "--unset"}:
            at += 2
        elif words[at].startswith("--unset=") or words[at] == "-i" or is_assignment(words[at]):
            at += 1
        else:
            break
    return min(at, len(words))
