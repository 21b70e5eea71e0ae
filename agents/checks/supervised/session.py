"""Session: the pytest plugin that reports each test to the supervisor."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from typing import Any

    from agents.checks.supervised.channel import Reporter

DETAIL_CHARACTERS = 2_000
OUTPUT_CHARACTERS = 600
ERROR_CHARACTERS = 20_000
"""Of all files that could not be collected, the first ones first: they go into one report."""
ID_CHARACTERS = 1_000


class Session:
    """See `Reporter` for the order of its messages. `canary` is the file of tests that must
    fail."""

    def __init__(self, reporter: Reporter, canary: str) -> None:
        self._reporter, self._canary = reporter, canary
        self._reports: list[pytest.TestReport] = []
        self._errors: dict[str, str] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Tracebacks are short, because a model reads them. The terminal's report goes nowhere: it
        counts the tests that must fail. Its plug-in stays, because others may use it."""
        config.option.tbstyle = "short"
        config.get_terminal_writer()._file = Path(os.devnull).open("w")  # noqa: SIM115, SLF001

    def pytest_internalerror(self, excrepr: object) -> None:
        """Print the error: it is the reason why there are no reports."""
        print(excrepr, file=sys.stderr)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record what could not be collected."""
        if report.failed:
            left = ERROR_CHARACTERS - sum(len(name + text) for name, text in self._errors.items())
            size = min(DETAIL_CHARACTERS, left - len(report.nodeid))
            if size > 0:
                self._errors[report.nodeid] = report.longreprtext[-size:]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Insert the tests that must fail at random places; the order of the others stays."""
        anywhere = random.SystemRandom().randrange
        mixed = [each for each in items if not each.nodeid.startswith(self._canary)]
        for item in items:
            if item.nodeid.startswith(self._canary):
                mixed.insert(anywhere(len(mixed) + 1), item)
        items[:] = mixed

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Request a number before a test, report after it."""
        self._reporter.begin()
        self._reports = []
        try:
            result = yield
        except BaseException as error:
            why = f"the session was interrupted ({type(error).__name__})"
            self._reporter.send({"id": _id(item), "outcome": "error", "detail": why})
            raise
        outcome, detail = _outcome(self._reports), _detail(self._reports)
        self._reporter.send({"id": _id(item), "outcome": outcome, "detail": detail})
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record a phase of the current test."""
        self._reports.append(report)

    def close(self, status: int) -> None:
        """The last report: how pytest ended, and what was not collected."""
        self._reporter.begin()
        self._reporter.send({"end": status, "errors": self._errors})


def _id(item: pytest.Item) -> str:
    """A test's id; a long one is cut, with a hash that keeps it unique."""
    whole = item.nodeid
    if len(whole) <= ID_CHARACTERS:
        return whole
    return f"{whole[: ID_CHARACTERS - 16]}{hash(whole) & 0xFFFF_FFFF_FFFF_FFFF:016x}"


def _outcome(reports: Sequence[pytest.TestReport]) -> str:
    phases = {report.when: report for report in reports}
    if any(report.failed for report in reports):
        call = phases.get("call")
        return "failed" if call is not None and call.failed else "error"
    if any(report.skipped for report in reports):
        return "xfailed" if any(hasattr(report, "wasxfail") for report in reports) else "skipped"
    return "passed" if phases.keys() >= {"setup", "call", "teardown"} else "error"


def _detail(reports: Sequence[pytest.TestReport]) -> str:
    shown: Any = next((report for report in reports if not report.passed), None)
    if shown is None:
        return ""
    skip = shown.longrepr if isinstance(shown.longrepr, tuple) else None  # file, line, why
    text = str(skip[2]) if skip else shown.longreprtext
    for name, content in shown.sections:
        text += f"\n{name}:\n{content[-OUTPUT_CHARACTERS:]}"
    return str(text[-DETAIL_CHARACTERS:])
