"""Published sets are judged as their papers do: solution and assertions are one program."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.cases.tiny_humaneval import GOOD, WRONG, problem, written

from agents.checks.checks import Checks
from agents.checks.judge import judge
from evals.run.hidden_tests import why
from evals.sources import sets
from evals.sources.exercise import Exercise
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=60.0)

pytestmark = pytest.mark.asyncio(loop_scope="module")

MBPP = {
    "named as a test": (
        "def test_same(items):\n    return len(items) != len(set(items))",
        ["assert test_same([1]) == False", "assert test_same([1, 1]) == True"],
    ),
    "named with an underscore": (
        "def _sum(items):\n    return sum(items)",
        ["assert _sum([1]) == 1", "assert _sum([1, 2]) == 3"],
    ),
    "of several lines, with what the tests import": (
        "import math\n\n\ndef area(r):\n    return math.pi * r * r",
        ["assert area(0) == 0", "assert math.isclose(\n    area(1),\n    math.pi,\n)"],
    ),
}
CHEATS = {
    "an exit": "import sys\nsys.exit(0)\n",
    "an exit without Python": "import os\nos._exit(0)\n",
    "other builtins": "import builtins\nbuiltins.exec = builtins.compile = print\n",
    "assertions of its own": "open('hidden.py', 'w').write('')\n",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    made = LocalSandbox(PYTHON)
    try:
        yield made
    finally:
        await made.close()


def mbpp(folder: Path, code: str, tests: list[str]) -> Exercise:
    line = {"task_id": 1, "prompt": "Do it.", "code": code, "test_list": tests}
    path = folder / "sanitized.json"  # as it is published: one array
    path.write_text(json.dumps([{**line, "test_imports": ["import math"]}], indent=4))
    (found,) = sets.load("mbpp", path, folder).exercises
    return found


async def judged(
    sandbox: LocalSandbox, exercise: Exercise, solution: str, limits: Limits = LIMITS
) -> dict[str, Any]:
    checks = Checks(exercise.tests, exercise.command)
    report = await judge(sandbox, {"solution.py": solution.encode()}, checks, limits)
    return report.as_data({})


@pytest.mark.parametrize("shape", MBPP)
async def test_a_canonical_solution_passes_whatever_its_name(sandbox, tmp_path, shape):
    exercise = mbpp(tmp_path, *MBPP[shape])
    right = exercise.right["solution.py"]
    report = await judged(sandbox, exercise, right)
    assert report["passed"], why(report)
    assert report["judged_by"] == "script"
    assert not (await judged(sandbox, exercise, right.replace("return", "return not")))["passed"]


async def test_a_solution_that_takes_too_long_is_reported_so(sandbox, tmp_path):
    tests = ["assert late(0) == 0", "assert late(9) == 9"]
    exercise = mbpp(tmp_path, "def late(x):\n    while x:\n        pass\n    return x", tests)
    limits = replace(LIMITS, wall_seconds=2.0)
    report = await judged(sandbox, exercise, exercise.right["solution.py"], limits)
    assert not report["passed"]
    assert why(report) == "the time for all checks was used up"
    assert [test["detail"] for test in report["tests"]] == ["the time for all checks was used up"]


@pytest.mark.parametrize("cheat", CHEATS)
async def test_a_solution_that_skips_the_assertions_fails(sandbox, tmp_path, cheat):
    exercise = mbpp(tmp_path, *MBPP["named with an underscore"])
    wrong = "def _sum(items):\n    return 0\n"
    assert not (await judged(sandbox, exercise, f"{wrong}{CHEATS[cheat]}"))["passed"]


async def test_humaneval_runs_prompt_solution_and_check_in_one_namespace(sandbox, tmp_path):
    given = "import math\n\n\ndef more(x):\n    return x + 1\n\n\n"
    helped = problem(3, "return more(x)", 21)
    helped |= {
        "prompt": given + helped["prompt"],
        "test": "def check(candidate):\n    assert candidate(20) == more(20) == math.floor(21)\n",
    }
    path = written(tmp_path / "x.jsonl", *GOOD, WRONG, helped)
    exercises = sets.load("humaneval", path, tmp_path).exercises
    passed = [
        (await judged(sandbox, each, each.right["solution.py"]))["passed"] for each in exercises
    ]
    assert passed == [True, True, False, True]
    alone = "def f3(x):\n    return more(x)\n"  # leaves out what the prompt has before the function
    assert (await judged(sandbox, exercises[-1], alone))["passed"]
    assert not (await judged(sandbox, exercises[-1], "x = 1\n"))["passed"]
