"""Reports of acceptance checks, and their texts in the state, events and prompts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from agents.attempt import Ports
from agents.ports.checks import Checks
from agents.runs.record import kept_stream
from agents.texts import head_and_tail
from sandbox.protocol import RunResult, Stream

Outcome = Literal["passed", "failed", "error", "missing", "skipped"]
JudgedBy = Literal["tests", "exit_code", "cases"]
"""How test files are judged: by pytest's report of each test, or by an exit code alone. `cases`:
there are no test files. Records of release 0.1 can also have `script`."""


@dataclass(frozen=True, slots=True)
class Test:
    """One test or case. `error`: it failed outside of its own body, or could not be run. `missing`:
    it did not run. `skipped`: it was skipped, or is expected to fail."""

    id: str
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the checks.

    `problem` is a reason against it that is not the outcome of a test: no test has passed, or the
    run ended without a report. `result` is the run of all test files, or of one case: the first
    that did not pass, else the last.
    """

    tests: tuple[Test, ...]
    problem: str | None
    result: RunResult
    seconds: float
    judged_by: JudgedBy

    @property
    def passed(self) -> bool:
        """Whether at least one check has passed, and the others have at most been skipped."""
        outcomes = {test.outcome for test in self.tests}
        return self.problem is None and "passed" in outcomes and outcomes.issubset(NO_FAILURE)


def merged(reports: Sequence[Report]) -> Report:
    """One report of several. The first report says how test files are judged."""
    decisive = next((report for report in reports if not report.passed), reports[-1])
    return Report(
        tests=tuple(test for report in reports for test in report.tests),
        problem=next((report.problem for report in reports if report.problem), None),
        result=decisive.result,
        seconds=sum(report.seconds for report in reports),
        judged_by=reports[0].judged_by,
    )


FAILING_SHOWN = 8
DETAIL_SHOWN = 800
"""Tests that models get in full, and characters of each."""

NO_FAILURE = ("passed", "skipped")

State = Mapping[str, Any]


def checks_of(state: State, ports: Ports) -> Checks:
    """The caller's checks and the tester's tests. If names are equal, the caller's file counts."""
    checks = ports.checks or Checks()
    return replace(checks, files={**state.get("tests", {}), **checks.files})


def criteria_for_prompt(state: State, ports: Ports) -> dict[str, Any]:
    """{checks: their names, added: those that are put into the project, interface: the names that
    the tester's tests use, verify: the job's command}, for the prompts of the planner and the
    executor."""
    return {
        "checks": checks_of(state, ports).names,
        "added": sorted(state.get("tests", {})) if ports.repository else [],
        "interface": state.get("interface", ""),
        "verify": shlex.join(state["job"].get("verify") or ()),
    }


async def report_data(report: Report, ports: Ports) -> dict[str, Any]:
    """{passed, judged_by, problem, tests: [{id, outcome, detail}], run: {end, exit_code, signal,
    stdout}, seconds}. `stdout` is the output of the tests, or both streams of one case, cut to size
    like a run's."""
    result = report.result
    both = Stream(
        result.stdout.text + result.stderr.text,
        result.stdout.dropped_bytes + result.stderr.dropped_bytes,
    )
    return {
        "passed": report.passed,
        "judged_by": report.judged_by,
        "problem": report.problem,
        "tests": [asdict(test) for test in report.tests],
        "run": {
            "end": result.end.value,
            "exit_code": result.exit_code,
            "signal": result.signal,
            "stdout": await kept_stream(ports.workspace, both, ports.bounds.inline_characters),
        },
        "seconds": round(report.seconds, 3),
    }


def report_summary(checked: Mapping[str, Any]) -> str:
    """One line: how many passed, and the problem."""
    tests = checked["tests"]
    passed = sum(test["outcome"] == "passed" for test in tests)
    counted = f"{passed} of {len(tests)} checks passed"
    if skipped := sum(test["outcome"] == "skipped" for test in tests):
        counted += f", {skipped} skipped"
    if checked["judged_by"] == "exit_code" and tests:
        counted += f", `{tests[0]['id']}` judged by its exit code alone"
    return f"{counted}: {checked['problem']}" if checked["problem"] else counted


def report_of(state: State) -> dict[str, Any] | None:
    """The report on the current work; None if it was not checked."""
    checked: dict[str, Any] | None = state.get("checked")
    return checked if checked and checked["revision"] == state["revision"] else None


def unpassed_checks(state: State) -> str | None:
    """The reason why the checks prevent an approval, or None."""
    checked = report_of(state)
    if checked is None or checked["passed"]:
        return None
    if checked["problem"]:
        return f"the acceptance checks have not passed: {checked['problem']}"
    failed = sum(test["outcome"] not in NO_FAILURE for test in checked["tests"])
    return f"{failed} of {len(checked['tests'])} acceptance checks do not pass"


def failing_excerpt(state: State) -> dict[str, Any]:
    """{failing: [test], passing: how many}, for the executor's prompt."""
    checked = report_of(state)
    tests = checked["tests"] if checked else []
    cut = [_cut(test) for test in tests if test["outcome"] not in NO_FAILURE]
    passing = sum(test["outcome"] == "passed" for test in tests)
    return {"failing": cut[:FAILING_SHOWN], "passing": passing}


def report_excerpt(state: State) -> dict[str, Any] | None:
    """The report for the critic's prompt."""
    checked = report_of(state)
    if checked is None:
        return None
    tests = sorted(checked["tests"], key=lambda test: test["outcome"] == "passed")
    cut = [_cut(test) for test in tests[: 4 * FAILING_SHOWN]]
    return {"judged_by": None, **checked, "tests": cut}


def _cut(test: Mapping[str, str]) -> dict[str, str]:
    return {**test, "detail": head_and_tail(test["detail"], DETAIL_SHOWN)}
