"""Runs checks over a copy of a workspace, in new sandboxes. The files stay unchanged.

Test files run as pytest runs them anywhere, with the plug-in that reports each test of a job's own
runs. The code under test runs in the process that writes the report, so the report is as
trustworthy as that code. Cases are compared outside of the sandbox.

See ADR 88.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from agents.attempt import Ports
from agents.checks import cases
from agents.checks.command import CheckCommand, command_of
from agents.checks.commit import Commit, commit_of
from agents.checks.copied_files import placed, tree_under_test, with_texts
from agents.checks.reports import Outcome, Report, Test, merged
from agents.layout.site import site_of
from agents.ports.checks import Case, Checks
from agents.runs import pytest_runs
from agents.runs.program import Program, command_over
from agents.texts import head_and_tail
from agents.tree import Tree
from sandbox.protocol import End, Limits, RunResult, Sandbox, SandboxUnavailable
from sandbox.result import result_without_answer

NO_SITE: Mapping[str, bytes] = {}
MOST_TESTS = 500
"""Tests in a report. If there are more, those that have not passed come first."""
MOST_DETAILS = 100_000
DETAIL = 2_000
"""Characters of all details together, and of each detail."""

_NO_PYTEST = re.compile(r"No module named '?pytest\b|^pytest: not found", re.MULTILINE)
_LIMITS = {
    End.TIMEOUT: "the checks ran for longer than they may",
    End.CPU: "the checks used more processor time than they may",
    End.MEMORY: "the checks used more memory than they may",
    End.OUTPUT: "the checks printed far more than is kept",
    End.DISK: "the checks' files took more space than they may",
}


async def judge_work(
    ports: Ports,
    checks: Checks,
    tree: Tree,
    limits: Limits | None = None,
    site: Mapping[str, bytes] = NO_SITE,
) -> Report:
    """Run `checks` over a copy of `tree`, a version of the job's workspace. See `judge`."""
    commit = await commit_of(ports.workspace) if tree.layers else None
    return await judge(ports.sandbox, tree, checks, limits or ports.limits, commit, site)


async def judge(
    sandbox: Sandbox,
    tree: Tree,
    checks: Checks,
    limits: Limits,
    commit: Commit | None = None,
    site: Mapping[str, bytes] = NO_SITE,
) -> Report:
    """Run `checks` over a copy of the files of a workspace. `commit`: of the job's repository.
    `site`: more site files for pytest.

    Raises SandboxUnavailable if no program can run or pytest is not installed; ValueError for a
    command that cannot be split. Failed tests and programs are values.
    """
    reports = []
    if checks.files or not checks.cases:
        reports.append(await _run_test_files(sandbox, tree, checks, limits, commit, site))
    if checks.cases:
        reports.append(await cases.run_cases(sandbox, tree, checks.cases, limits, commit=commit))
    return merged(reports)


async def _run_test_files(
    sandbox: Sandbox,
    tree: Tree,
    checks: Checks,
    limits: Limits,
    commit: Commit | None,
    site: Mapping[str, bytes],
) -> Report:
    settings, links = (commit.settings, commit.links) if commit else ((), {})
    texts = {placed(path, links): text for path, text in checks.files.items()}
    command = command_of(replace(checks, files=texts), on_commit=commit is not None)
    copy = tree_under_test(tree, texts, settings)
    if command.is_pytest:
        copy = with_texts(copy, texts)
        site = {**(commit.site if commit else site_of(copy.files)), **site}
        return await _run_pytest(sandbox, command, copy, site, limits)
    case = Case(" ".join(command.argv), command.argv, files=checks.files)
    return await cases.run_cases(sandbox, copy, [case], limits, "exit_code", commit)


async def _run_pytest(
    sandbox: Sandbox,
    command: CheckCommand,
    tree: Tree,
    site: Mapping[str, bytes],
    limits: Limits,
) -> Report:
    """A report of pytest. Raises SandboxUnavailable if pytest is not installed."""
    program = command_over(Program.verify(command.argv), tree, site)
    try:
        result = await sandbox.run(program, limits)
    except ValueError as error:  # too many files, or invalid names, for any sandbox
        problem = f"the files cannot be checked: {error}"
        return Report((), problem, result_without_answer(End.EXITED, 0.0), 0.0, "tests")
    report = pytest_runs.report_in(result.changed)
    if report.tests is None and _NO_PYTEST.search(result.stderr.text):
        raise SandboxUnavailable(
            "pytest is not installed for the sandbox's Python, so no checks can be run: "
            "install it there (`make install` does)"
        )
    return Report(
        tests=tuple(_bounded(_tests(report))),
        problem=_problem(report, result),
        result=replace(result, changed={}, deleted=frozenset(), refused=()),
        seconds=result.seconds,
        judged_by="tests",
    )


def _tests(report: pytest_runs.PytestReport) -> Iterable[Test]:
    for test in report.tests or ():
        outcome: Outcome = "missing" if test.outcome == "not_run" else test.outcome
        detail = "it did not run" if outcome == "missing" else test.lines or test.detail
        yield Test(test.id, outcome, detail)
    for name in report.deselected:
        yield Test(name, "missing", "it was deselected")


def _bounded(tests: Iterable[Test]) -> Iterable[Test]:
    """The tests with details of bounded size."""
    tests, remaining = list(tests), MOST_DETAILS
    if len(tests) > MOST_TESTS:
        tests = sorted(tests, key=lambda test: test.outcome == "passed")[:MOST_TESTS]
    for test in tests:
        detail = head_and_tail(test.detail, min(DETAIL, remaining))
        remaining = max(remaining - len(detail), 0)
        yield replace(test, detail=detail)


def _problem(report: pytest_runs.PytestReport, result: RunResult) -> str | None:
    """A reason against the checks that is not the outcome of a test."""
    if result.end in _LIMITS:
        return _LIMITS[result.end]
    failing = any(test.outcome in pytest_runs.BAD for test in report.tests or ())
    if failing and result.exit_code in {0, 1}:
        return None
    return pytest_runs.why_failed(report, result)
