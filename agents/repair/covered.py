"""Covered up: what failed within a run although the run itself ended with 0. Pure.

In this order: the tests that it made, by their report; an exception that ended a thread, an asyncio
task or a child process, as the interpreter tells of it; an exception that ended a program whose
exit code the command line does not pass on. What a program catches and prints by itself is its own
affair.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agents.repair.command_line import commands
from agents.repair.hidden import hides_any
from agents.repair.reports import report_in
from agents.repair.selection import selection
from agents.repair.subject import subject
from agents.repair.tracebacks import decisive, tracebacks
from agents.texts import colourless
from sandbox.protocol import RunResult

_TESTS = re.compile(r"\b(?:doctest|pytest|unittest)\b")
_NO_PYTEST = re.compile(r"^\S*python[\d.]*: (No module named pytest)$", re.MULTILINE)
_STRICT = re.compile(r"^(?:[ \t]*set\b|#!)[^;&|\n]*[ \t]-(?:\w*e|o errexit)", re.MULTILINE)
_WRITTEN_OUT = "\\n"
"""A line's end in output that was printed as bytes."""


def covered_up(
    tool: str, program: str, files: Mapping[str, bytes], result: RunResult
) -> str | None:
    """What a run of `program` over `files` has shown to fail, where its own exit code (`pytest ||
    true`) says nothing of it; None where that is nothing."""
    if not result.succeeded:
        return None
    scripts = _started(tool, program, files)
    out, err = colourless(result.stdout.text), colourless(result.stderr.text)
    found = _tests(out, err) if _makes_tests(tool, program, scripts) else None
    if found is not None:
        return found
    raised = tracebacks(err)
    lost = next((each for each in raised if each.lost), None)
    if lost is None and tool == "shell" and _goes_on(program, scripts):
        lost = decisive([*tracebacks(out), *raised])
        lost = None if lost is None or lost.aside else lost
    return None if lost is None else lost.line


def _started(tool: str, program: str, files: Mapping[str, bytes]) -> dict[str, str]:
    """The scripts of the job's that a program starts, by path."""
    paths = subject({"tool": tool, "code": {"text": program}}, files).scripts & files.keys()
    return {path: files[path].decode(errors="replace") for path in paths}


def _makes_tests(tool: str, program: str, scripts: Mapping[str, str]) -> bool:
    if any(map(_TESTS.search, scripts.values())):
        return True
    if tool == "shell":
        return any(selection(words) for words in commands(program))
    return _TESTS.search(program) is not None


def _tests(*outputs: str) -> str | None:
    """What tests have shown, in a program's output or in what it has printed of another's."""
    written = (text.replace(_WRITTEN_OUT, "\n") for text in outputs if _WRITTEN_OUT in text)
    texts = [*outputs, *written]
    if report := report_in(*texts):
        return report.cause
    missing = next(filter(None, map(_NO_PYTEST.search, texts)), None)
    return missing[1] if missing else None


def _goes_on(program: str, scripts: Mapping[str, str]) -> bool:
    """Whether a command line may end well although a program of it has failed."""
    shells = (text for path, text in scripts.items() if path.endswith(".sh"))
    return hides_any(program) or not all(map(_STRICT.search, shells))
