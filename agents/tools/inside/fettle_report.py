"""A pytest plug-in that reports each test. It writes the file REPORT when the session has ended, as
JSON: {collected, tests: [{id, outcome, detail}]}.

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

_open: Callable[..., Any] = open
_dumps, _getpid, _pid = json.dumps, os.getpid, os.getpid()
"""Bound before tests can replace them."""


class Recorder:
    """The worst phase of a test counts."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.outcomes: dict[str, tuple[str, str]] = {}

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected is an error."""
        if report.failed:
            self.outcomes[report.nodeid or "(collection)"] = "error", _detail(report)

    def pytest_collection_finish(self, session: Any) -> None:
        """The tests to run."""
        self.ids = [item.nodeid for item in session.items]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """One phase of a test."""
        if report.failed:
            outcome = "failed" if report.when == "call" else "error"
            self.outcomes[report.nodeid] = outcome, _detail(report)
        elif report.nodeid not in self.outcomes and report.skipped:
            self.outcomes[report.nodeid] = "skipped", _detail(report)
        elif report.nodeid not in self.outcomes and report.when == "call":
            self.outcomes[report.nodeid] = "passed", ""

    def pytest_unconfigure(self) -> None:
        """Write the report at the end of the session. No test can read the file."""
        if _getpid() == _pid:  # otherwise a process that a test forked ends
            with _open(REPORT, "w") as file:
                file.write(_dumps(self.report()))

    def report(self) -> dict[str, Any]:
        """The report; it includes tests that were collected and did not run."""
        names = dict.fromkeys((*self.ids, *self.outcomes))
        tests = [
            {"id": name, "outcome": outcome, "detail": detail}
            for name in names
            for outcome, detail in [self.outcomes.get(name, ("not_run", ""))]
        ]
        return {"collected": len(self.ids), "tests": tests}


def pytest_configure(config: Any) -> None:
    """Register the recorder, except in a worker of pytest-xdist, because its controller gets every
    test. Tracebacks are short, because a model reads them, unless another style is configured."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(), "fettle-recorder")
    if getattr(config.option, "tbstyle", None) == "auto":
        config.option.tbstyle = "short"


def _detail(report: Any) -> str:
    """Place and reason, in a few lines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return f"{os.path.relpath(crash.path)}:{crash.lineno}: {crash.message}"[:DETAIL]
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        return str(report.longrepr[-1])[:DETAIL]
    return str(report.longreprtext)[-DETAIL:]
