"""Reading the reports of pytest, unittest and doctest out of what a program printed. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.failures.tracebacks import Raised, decisive, raised_in, tracebacks

# A run chooses what it prints: no pattern may cost more than its length, and no number is endless.
_PYTEST = re.compile(
    r"^=*[ \t]*(?P<counts>(?:\d{1,9} [a-z]+, )*\d{1,9} [a-z]+|no tests ran) in \d+\.\d\ds\b.*$",
    re.MULTILINE,
)
_COUNT = re.compile(r"(\d{1,9}) (failed|errors?|passed)")
_NAMED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+)(?: - (?P<why>.*))?$", re.MULTILINE)
_ERRORS = re.compile(r"^(?:=+ ERRORS =+$|ERROR \S)", re.MULTILINE)
_COLLECTING = re.compile(r"^_+ ERROR collecting \S+ _+$", re.MULTILINE)
_E_LINE = re.compile(r"^E {3}(?P<said>\S.*)$", re.MULTILINE)
_UNITTEST = re.compile(
    r"^Ran (?P<ran>\d+) tests? in [\d.]+s\s+^(?:OK\b.*|FAILED \((?P<counts>[\w=, ]+)\))\s*$",
    re.MULTILINE,
)
_DOCTEST = re.compile(r"^\*\*\*Test Failed\*\*\* (?P<failed>\d{1,9}) failures?\.", re.MULTILINE)
_EXAMPLE = re.compile(
    r'^File "(?P<file>[^"\n]+)", line (?P<line>\d{1,9}), in (?P<test>\S+)\nFailed example:',
    re.MULTILINE,
)
_HEADING = re.compile(r"^(?:FAIL|ERROR): (?P<test>\S+)(?P<of>.*)$", re.MULTILINE)
_NOT_IMPORTED = "unittest.loader._FailedTest"
"""The class that unittest makes for what it cannot import."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report of tests that did not all pass. `broken` is the exception that kept them from even
    being collected: then no test has failed, the code cannot be imported."""

    cause: str
    broken: Raised | None = None


def report_in(*texts: str) -> Report | None:
    """The first report, of any kind, in texts that a run has printed."""
    readers = (pytest_report, unittest_report, doctest_report)
    return next(filter(None, (read(each) for each in texts for read in readers)), None)


def pytest_report(text: str) -> Report | None:
    """The last of pytest's reports in `text`, if it tells of a failure."""
    ends = list(_PYTEST.finditer(text))
    if not ends:
        return None
    counts = {name.rstrip("s"): int(count) for count, name in _COUNT.findall(ends[-1]["counts"])}
    failed = counts.get("failed", 0) + counts.get("error", 0)
    if ends[-1]["counts"] == "no tests ran":
        return Report("pytest found no tests", _collecting(text))
    if not failed:
        return None
    if counts.keys() == {"error"} and not _ERRORS.search(text):
        return None  # a linter's
    ran = failed + counts.get("passed", 0)
    named = _NAMED.search(text)
    first = f": {named['test']}: {named['why'] or 'failed'}" if named else ""
    return Report(f"{failed} of {ran} tests failed{first}", _collecting(text))


def unittest_report(text: str, *, last: bool = False) -> Report | None:
    """The last of unittest's reports in `text`, if it tells of a failure; `last`: and nothing is
    behind it."""
    *before, end = [None, *_UNITTEST.finditer(text)]
    if end is None or end["counts"] is None or (last and text[end.end() :].strip()):
        return None
    begin = before[-1].end() if before[-1] else 0
    headings = list(_HEADING.finditer(text, begin, end.start()))
    first = f": {headings[0]['test']}" if headings else ""
    cause = f"unittest: {end['counts']} of {end['ran']} tests{first}"
    if not headings or any(_NOT_IMPORTED not in heading["of"] for heading in headings):
        return Report(cause)
    behind = headings[1].start() if len(headings) > 1 else end.start()
    return Report(cause, decisive(tracebacks(text[headings[0].end() : behind])))


def doctest_report(text: str) -> Report | None:
    """The last of doctest's reports in `text`, if it tells of a failure."""
    ends = list(_DOCTEST.finditer(text))
    if not ends:
        return None
    place = _EXAMPLE.search(text)
    first = f": {place['test']} ({place['file']}, line {place['line']})" if place else ""
    return Report(f"doctest: {ends[-1]['failed']} failed{first}")


def _collecting(text: str) -> Raised | None:
    """The exception of the first file that could not be collected."""
    begun = _COLLECTING.search(text)
    if begun is None:
        return None
    said = [raised_in(line["said"]) for line in _E_LINE.finditer(text, begun.end())]
    return next((raised for raised in said if raised and raised.name.endswith("Error")), None)
