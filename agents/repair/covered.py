"""Covered up: tests that failed although the command line that ran them ended with 0. Pure."""

from __future__ import annotations

from agents.repair.command_line import commands
from agents.repair.reports import report_in
from agents.repair.selection import selection
from sandbox.protocol import RunResult


def covered_up(command: str, result: RunResult) -> str | None:
    """What the tests of a command line have shown, where its own exit code (`pytest || true`) says
    nothing of it; None where they did not fail, or there are none."""
    if not (result.succeeded and any(selection(words) for words in commands(command))):
        return None
    report = report_in(result.stdout.text, result.stderr.text)
    return report.cause if report else None
