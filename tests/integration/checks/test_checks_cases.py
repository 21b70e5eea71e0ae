"""Cases: programs in their own sandboxes, compared by their output and files."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from agents.checks.judge import judge
from agents.checks.reports import Report
from agents.ports.checks import Case, Checks
from agents.tree import Tree
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, Limits, RunResult

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=30.0)

pytestmark = pytest.mark.asyncio(loop_scope="module")

APP = """
import pathlib, sys
number = int(sys.argv[1]) if sys.argv[1:] else int(input())
if number < 0:
    sys.exit("a negative number")
print(number * number)
pathlib.Path("out").mkdir(exist_ok=True)
pathlib.Path("out/square.txt").write_text(f"{number * number}\\n")
"""
FILES = {"app.py": APP.encode(), "data.txt": b"5\n"}
THREE = ("python", "app.py", "3")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    backend = LocalSandbox(PYTHON)
    try:
        yield backend
    finally:
        await backend.close()


async def tried(
    sandbox: LocalSandbox,
    case: Case,
    files: Mapping[str, bytes] = FILES,
    limits: Limits = LIMITS,
) -> Report:
    return await judge(sandbox, Tree(files), Checks(cases=(case,)), limits)


@pytest.mark.parametrize(
    "expected",
    [
        {"argv": THREE, "stdout": "9\n"},
        {"argv": ("python", "app.py"), "stdin": "4\n", "stdout": "16\n"},
        {"argv": THREE, "stdout_matches": r"\d+."},
        {"argv": ("python", "app.py", "-1"), "exit_code": 1, "stdout": ""},
        {"argv": THREE, "expect_files": {"out/square.txt": "9\n", "data.txt": "5\n"}},
        {"argv": ("cat", "data.txt", "more.txt"), "files": {"more.txt": "6"}, "stdout": "5\n6"},
        {"argv": ("cat", "data.txt/a"), "files": {"data.txt/a": "6"}, "stdout": "6"},
    ],
)
async def test_a_right_program_passes(sandbox: LocalSandbox, expected: dict[str, Any]) -> None:
    report = await tried(sandbox, Case("case 1", **expected))
    assert report.passed, report
    assert report.judged_by == "cases"


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({"stdout": "10\n"}, "stdout: expected '10\\n', actual '9\\n'"),
        ({"stdout_matches": r"\d"}, "stdout: expected a match of '\\\\d', actual '9\\n'"),
        ({"exit_code": 2}, "exit code: expected 2, actual 0"),
        ({"argv": ("python", "app.py", "-1")}, "exit code: expected 0, actual 1\nstderr: a neg"),
        ({"argv": ("sh", "-c", "kill -9 $$")}, "exit code: expected 0, actual signal 9"),
        ({"expect_files": {"out/square.txt": "8"}}, "out/square.txt: expected '8', actual '9\\n'"),
        ({"expect_files": {"none.txt": "8"}}, "none.txt: expected '8', but there is no such file"),
        (
            {"argv": ("rm", "data.txt"), "expect_files": {"data.txt": "5\n"}},
            "there is no such file",
        ),
    ],
)
async def test_a_wrong_program_fails_with_actual_and_expected_output(
    sandbox: LocalSandbox, expected: dict[str, Any], message: str
) -> None:
    report = await tried(sandbox, Case(**{"id": "case 1", "argv": THREE, **expected}))
    (test,) = report.tests
    assert (test.outcome, report.passed) == ("failed", False)
    assert test.detail.startswith(f"$ {' '.join(expected.get('argv', THREE))[:6]}")
    assert message in test.detail


@pytest.mark.parametrize(
    ("case", "outcome", "message"),
    [
        (Case("c", ("sleep", "60"), stdout=""), "failed", "actual timeout"),
        (Case("c", ("echo", "a" * 40), stdout_matches="(a|a)*b"), "error", "timeout"),
        (Case("c", ("echo", "a"), stdout_matches="(a"), "error", "unterminated subpattern"),
        (Case("c", ("echo", "a"), files={"../a": "x"}), "error", "cannot be checked"),
        (Case("c", ("yes",), stdout_matches="y.*"), "failed", "more than the limit"),
    ],
)
async def test_an_endless_program_is_stopped(
    sandbox: LocalSandbox, case: Case, outcome: str, message: str
) -> None:
    report = await tried(sandbox, case, limits=replace(LIMITS, wall_seconds=2.0))
    (test,) = report.tests
    assert test.outcome == outcome, test
    assert message in test.detail


async def test_all_cases_together_have_five_times_the_time_of_one(sandbox: LocalSandbox) -> None:
    slow = tuple(Case(f"case {number}", ("sleep", "60")) for number in range(10))
    checks = Checks(cases=slow)
    report = await judge(sandbox, Tree(FILES), checks, replace(LIMITS, wall_seconds=0.3))
    outcomes = [test.outcome for test in report.tests]
    assert outcomes.index("missing") <= 5
    assert outcomes == sorted(outcomes)
    assert not report.passed


class Recorded:
    """A sandbox that records the files and inputs that enter it."""

    def __init__(self, sandbox: LocalSandbox) -> None:
        self._sandbox = sandbox
        self.commands: list[Command] = []

    async def run(self, command: Command, limits: Limits) -> RunResult:
        self.commands.append(command)
        return await self._sandbox.run(command, limits)

    async def check(self) -> Any:
        return await self._sandbox.check()

    async def close(self) -> None:
        await self._sandbox.close()


async def test_no_expected_value_enters_the_sandbox_of_the_program(sandbox: LocalSandbox) -> None:
    recorded = Recorded(sandbox)
    secret = {"stdout_matches": "(?:9|secret-1).", "expect_files": {"secret-2.txt": "secret-3"}}
    await judge(recorded, Tree(FILES), Checks(cases=(Case("case 1", THREE, **secret),)), LIMITS)
    program, matcher = recorded.commands
    assert "secret" not in repr(program)
    assert (b"secret-1" in matcher.stdin, matcher.files) == (True, {})


async def test_each_case_has_a_separate_copy(sandbox: LocalSandbox) -> None:
    writes = Case("case 1", ("sh", "-c", "echo x > data.txt; echo y > new.txt"))
    sees = Case("case 2", ("sh", "-c", "cat data.txt; ls"), stdout="5\napp.py\ndata.txt\n")
    report = await judge(sandbox, Tree(FILES), Checks(cases=(writes, sees)), LIMITS)
    assert report.passed, report


async def test_files_and_cases_are_one_report(sandbox: LocalSandbox) -> None:
    test = "import pathlib\n\ndef test_app():\n    assert pathlib.Path('app.py').exists()\n"
    case = Case("case 1", THREE, stdout="9\n")
    wrong = replace(case, id="case 2", stdout="8\n")
    both = await judge(
        sandbox, Tree(FILES), Checks({"test_a.py": test}, cases=(case, wrong)), LIMITS
    )
    assert [(test.id, test.outcome) for test in both.tests] == [
        ("test_a.py::test_app", "passed"),
        ("case 1", "passed"),
        ("case 2", "failed"),
    ]
    assert (both.judged_by, both.passed, both.result.stdout.text) == ("tests", False, "9\n")
