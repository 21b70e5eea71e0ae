"""Runs pytest and reports each test. Input: {words} as JSON; the report goes to the file REPORT as
JSON: {collected, tests: [{id, outcome, detail}]} or {error}.

Without a report nothing is shown: a test may have ended the process (`os._exit(0)`).
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPORT = "/work/.fettle-tests.json"
DETAIL = 600
MISSING = 3


class Recorder:
    """A pytest plugin. The worst phase of a test counts."""

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

    def report(self) -> dict[str, Any]:
        """The report; it includes tests that were collected and did not run."""
        names = dict.fromkeys((*self.ids, *self.outcomes))
        tests = [
            {"id": name, "outcome": outcome, "detail": detail}
            for name in names
            for outcome, detail in [self.outcomes.get(name, ("not_run", ""))]
        ]
        return {"collected": len(self.ids), "tests": tests}


def _detail(report: Any) -> str:
    """Place and reason, in a few lines."""
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return f"{os.path.relpath(crash.path)}:{crash.lineno}: {crash.message}"[:DETAIL]
    if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
        return str(report.longrepr[-1])[:DETAIL]
    return str(report.longreprtext)[-DETAIL:]


def write_down(report: dict[str, Any], opened: Callable[..., Any] = open) -> None:
    """Write the report. `open` is bound before tests can replace it."""
    with opened(REPORT, "w") as file:
        file.write(json.dumps(report))


def main() -> int:
    """pytest's exit code, or MISSING."""
    asked = json.load(sys.stdin)
    Path(REPORT).unlink(missing_ok=True)
    try:
        pytest = importlib.import_module("pytest")
    except ImportError as error:
        write_down({"error": f"pytest cannot be imported in the sandbox: {error}"})
        return MISSING
    recorder = Recorder()
    words = ["-q", "--tb=short", "--color=no", "-p", "no:cacheprovider"]
    code = pytest.main([*words, *asked["words"]], plugins=[recorder])
    write_down(recorder.report())
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
