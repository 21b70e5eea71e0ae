"""A report in the form of events, views and prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.checks.report import Report
from agents.ports import Ports
from agents.texts import head_and_tail


async def report_data(report: Report, ports: Ports) -> dict[str, Any]:
    """{passed, judged_by, problem, tests: [{id, outcome, detail}], notices: [{file, line, what}],
    run: {end, exit_code, signal, stdout}, seconds}. `stdout` is the output of the tests, or both
    streams of one case, cut to size like a run's."""
    result, kept = report.result, ports.bounds.kept
    text, digest = result.stdout.text + result.stderr.text, None
    if len(text) > kept:
        digest = await ports.workspace.keep(text.encode(errors="replace"))
    stdout = {
        "text": head_and_tail(text, kept),
        "dropped_bytes": result.stdout.dropped_bytes + result.stderr.dropped_bytes,
        "digest": digest,
    }
    run = {
        "end": result.end.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": stdout,
    }
    return report.as_data(run)


def report_summary(checked: Mapping[str, Any]) -> str:
    """One line: how many passed, and the problem. Pure."""
    tests = checked["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    counted = f"{passed} of {len(tests)} checks passed"
    if checked["judged_by"] == "exit_code" and tests:
        counted += f", `{tests[0]['id']}` judged by its exit code alone"
    return f"{counted}: {checked['problem']}" if checked["problem"] else counted
