"""A pytest plug-in that reports each test. It writes the file REPORT when the session has ended, as
JSON: {collected, tests: [{id, outcome, detail, lines, seconds}], deselected: [id]}.

It changes no option that a project may have configured. A session without a report has not passed:
a test may have ended the process (`os._exit(0)`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

REPORT = "/work/.fettle-tests.json"
DETAIL = 600
LINES, LINE = 20, 300
"""The largest number of lines of a failure, and of characters in a line."""
FAILURES = 50
"""The number of failures that are reported with lines."""

_open: Callable[..., Any] = open
_dumps, _getpid, _pid = json.dumps, os.getpid, os.getpid()
"""Bound before tests can replace them."""


class Recorder:
    """Records the outcome of each test. The worst phase of a test counts."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.deselected: list[str] = []
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.lines: dict[str, str] = {}
        self.seconds: dict[str, float] = {}

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected is an error."""
        if report.failed:
            self._add_failure(report.nodeid or "(collection)", "error", report)

    def pytest_collection_finish(self, session: Any) -> None:
        """The tests to run."""
        self.ids = [item.nodeid for item in session.items]

    def pytest_deselected(self, items: Any) -> None:
        """Tests that an option such as `-k` has deselected."""
        self.deselected += [item.nodeid for item in items]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One phase of a test."""
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._add_failure(report.nodeid, "failed" if report.when == "call" else "error", report)
        elif report.nodeid not in self.outcomes and report.skipped:
            expected = getattr(report, "wasxfail", None)
            detail = _detail(report) if expected is None else f"expected to fail: {expected}"
            self.outcomes[report.nodeid] = "skipped", detail
        elif report.nodeid not in self.outcomes and report.when == "call":
            self.outcomes[report.nodeid] = "passed", ""

    def pytest_unconfigure(self) -> None:
        """Write the report at the end of the session. No test can read the file."""
        if _getpid() == _pid:  # otherwise a process that a test forked ends
            report = _dumps(self.report(), ensure_ascii=False)
            with _open(REPORT, "wb") as file:  # a lone surrogate is not valid UTF-8
                file.write(report.encode(errors="replace"))

    def report(self) -> dict[str, Any]:
        """The report; it includes tests that were collected and did not run."""
        names = dict.fromkeys((*self.ids, *self.outcomes))
        tests = [
            {
                "id": name,
                "outcome": outcome,
                "detail": detail,
                "lines": self.lines.get(name, ""),
                "seconds": round(self.seconds.get(name, 0.0), 3),
            }
            for name in names
            for outcome, detail in [self.outcomes.get(name, ("not_run", ""))]
        ]
        return {"collected": len(self.ids), "tests": tests, "deselected": self.deselected}

    def _add_failure(self, name: str, outcome: str, report: Any) -> None:
        self.outcomes[name] = outcome, _detail(report)
        if name in self.lines or len(self.lines) < FAILURES:
            self.lines[name] = _lines(report)


def pytest_configure(config: Any) -> None:
    """Register the recorder, except in a worker of pytest-xdist, because its controller gets every
    test. Tracebacks are short, because a model reads them, unless another style is configured."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(), "fettle-recorder")
    if getattr(config.option, "tbstyle", None) == "auto":
        config.option.tbstyle = "short"


def _detail(report: Any) -> str:
    """The place and the reason of a failure, in a few lines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return f"{os.path.relpath(crash.path)}:{crash.lineno}: {crash.message}"[:DETAIL]
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        return str(report.longrepr[-1])[:DETAIL]
    return str(report.longreprtext)[-DETAIL:]


def _lines(report: Any) -> str:
    """The traceback and the output of a test, each with its first and last lines."""
    parts = [str(report.longreprtext).splitlines()]
    for name, content in report.sections:
        if content.strip():
            parts.append([f"{name}:", *content.splitlines()[-LINES:]])
    return "\n".join(line[:LINE] for part in parts for line in _ends(part))


def _ends(lines: list[str]) -> list[str]:
    """At most LINES of the lines, and the number of omitted lines in the middle."""
    if len(lines) <= LINES:
        return lines
    half = LINES // 2
    return [*lines[:half], f"[... {len(lines) - LINES} lines left out ...]", *lines[-half:]]
