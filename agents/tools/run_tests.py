"""The tool `run_tests`: pytest in a fresh room, told test by test.

That tests have passed is said only of tests that were seen to pass: no pytest, no tests, tests
that were all skipped, or a process that ended without its report is an error and no success,
whatever its exit code.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError

from agents.errors import ToolRefused
from agents.lines import fitting
from agents.paths import checked, in_workspace
from agents.ports import Ports
from agents.runs import EXECUTOR, Program, in_room, recorded
from agents.telling import told
from agents.tools.call import Answer, Runtime, next_run
from agents.tools.inside import source
from agents.tools.inside.testing import DETAIL, REPORT
from agents.tools.trace import of_run
from sandbox.protocol import Command, RunResult

Outcome = Literal["failed", "error", "not_run", "skipped", "passed"]
OUTCOMES: tuple[Outcome, ...] = ("failed", "error", "not_run", "skipped", "passed")
"""The order in which tests are told: what went wrong first."""
BAD = OUTCOMES[:3]
TESTS_SHOWN = 60
TESTS_KEPT = 200
NAME = REPORT.rpartition("/")[2]

Name = Annotated[str, AfterValidator(lambda text: text[:300])]
Words = Annotated[str, AfterValidator(lambda text: text[:DETAIL])]
"""What tests have written is cut as it is read: a report is as long as a file may be."""


class Test(BaseModel):
    """What one test did, and where and why it failed."""

    id: Name
    outcome: Outcome
    detail: Words = ""


class Report(BaseModel):
    """What `inside/testing.py` leaves. Tests can write to it: it is read like any input."""

    error: Words | None = None
    tests: list[Test] | None = None

    @property
    def sorted(self) -> list[Test]:
        """The tests, worst first; each kind in its own order."""
        return sorted(self.tests or (), key=lambda test: OUTCOMES.index(test.outcome))

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each outcome, worst first."""
        return dict(Counter(test.outcome for test in self.sorted))


async def run_tests(runtime: Runtime, paths: list[str] | None = None, keyword: str = "") -> Answer:
    """Run tests with pytest in a fresh process in the working directory; see how each one went.

    Args:
        paths: Files, directories or tests (`test_a.py::test_one`); all that are there by default.
        keyword: Only tests whose names fit this expression, as pytest's -k has it.
    """
    ports: Ports = runtime.context
    number = next_run(runtime)
    asked = [_path(path) for path in paths or ()]
    program = _program(asked, keyword)
    result = await in_room(ports, program)
    report = _report(result)
    result = replace(
        result,
        changed={name: data for name, data in result.changed.items() if name != NAME},
        deleted=result.deleted - {NAME},
    )
    lack = lacking(report, result)
    ran = await recorded(
        ports,
        program,
        result,
        number,
        runtime.state["revision"],
        EXECUTOR,
        lack=lack,
        tests=_kept(report),
    )
    output = told(result, ran.run["refused"], ports.limits, ports.bounds.output)
    return _text(report, lack, output, ports.bounds.read), of_run(ran)


def _path(path: str) -> str:
    file, colons, test = in_workspace(path).partition("::")
    name = checked(file) if file not in {".", ""} else "."
    if name.startswith("-"):
        raise ToolRefused(f"not a file or directory of tests: {path!r}")
    return name + colons + test


def _program(paths: Sequence[str], keyword: str) -> Program:
    words = ["pytest", *(["-k", keyword] if keyword else []), *paths]
    asked = json.dumps({"paths": paths, "keyword": keyword}).encode()
    argv = Command.python(source("testing")).argv
    return Program("run_tests", shlex.join(words), argv, stdin=asked)


def _report(result: RunResult) -> Report:
    """What the tests wrote down; an empty report where that is none."""
    try:
        return Report.model_validate_json(result.changed.get(NAME, b"{}"))
    except ValidationError:
        return Report()


def lacking(report: Report, result: RunResult) -> str | None:
    """Why the tests have not passed, in a few words; None where they have. Pure."""
    if report.error is not None:
        return report.error
    if report.tests is None:
        return "pytest ended without a report: a test, or a limit, ended its process"
    counts = report.counts
    if not counts:
        return "no tests were found: files are named test_*.py, functions test_*"
    if any(name in counts for name in BAD):
        return _counted(counts)
    if "passed" not in counts:
        return "no test has passed: all were skipped"
    return None if result.succeeded else "pytest did not end well, though no test has failed"


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def _kept(report: Report) -> dict[str, Any]:
    """What a run's record holds: counts by outcome, and the tests as far as they are few."""
    tests = [test.model_dump() for test in report.sorted[:TESTS_KEPT]]
    return {"counts": report.counts, "tests": tests}


def _text(report: Report, lack: str | None, output: str, width: int) -> str:
    tests = report.sorted
    lines = [
        f"{test.outcome} {test.id}" + (f"\n    {test.detail}" if test.detail else "")
        for test in tests[:TESTS_SHOWN]
    ]
    lines = fitting(lines, width)
    if len(tests) > len(lines):
        lines.append(f"[{len(tests) - len(lines)} more]")
    if lack is None:
        return "\n".join([f"passed: {_counted(report.counts)}", *lines])
    return "\n".join([f"not passed: {lack}", *lines, "", output])
