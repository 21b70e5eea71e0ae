"""A report as events, views and prompts have it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.checks.report import Report
from agents.ports import Ports
from agents.texts import head_and_tail


async def told(report: Report, ports: Ports) -> dict[str, Any]:
    """{passed, judged_by, problem, tests: [{id, outcome, detail}], run: {end, exit_code, signal,
    stdout}, seconds}; `stdout` is what the tests printed, cut to size like a run's.
    """
    result, kept = report.result, ports.bounds.kept
    text, digest = result.stderr.text, None  # stdout is the supervisor's own
    if len(text) > kept:
        digest = await ports.workspace.keep(text.encode(errors="replace"))
    stdout = {
        "text": head_and_tail(text, kept),
        "dropped_bytes": result.stderr.dropped_bytes,
        "digest": digest,
    }
    run = {
        "end": result.end.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": stdout,
    }
    return report.told(run)


def in_words(checked: Mapping[str, Any]) -> str:
    """One line: how many passed, and what stands in the way. Pure."""
    tests = checked["tests"]
    if checked["judged_by"] == "exit_code" and tests:
        (run,) = tests
        passed = "passed" if checked["passed"] else f"not passed ({run['detail']})"
        counted = f"the checks have {passed}, by the exit code of `{run['id']}` alone"
    else:
        passed = sum(test["outcome"] == "passed" for test in tests)
        counted = f"{passed} of {len(tests)} checks passed"
    return f"{counted}: {checked['problem']}" if checked["problem"] else counted
