"""The run that proves a pass's last changes is made by the tool that made its last run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from graph_house import PLAN, Journey, call, turn, verdict

from agents.job import JobInput
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

WRONG, RIGHT = "def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"


@pytest.fixture
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=1)
    yield local
    await local.close()


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("run_tests", {"paths": ["test_sums.py"]}),
        ("shell", {"command": "python -m pytest -q -p no:cacheprovider test_sums.py"}),
        ("python", {"code": "from test_sums import test_add\ntest_add()"}),
    ],
)
async def test_the_last_repair_is_run_by_the_tool_of_the_last_run(
    tmp_path: Path, sandbox: LocalSandbox, tool: str, args: dict[str, Any]
) -> None:
    fix = call("edit_file", path="sums.py", old_text="a - b", new_text="a + b")
    turns = [
        PLAN,
        turn("executor", "Add.", call(tool, **args), after=0),
        turn("executor", "hint (", fix, after=1),
        turn("executor", "edited sums.py", "It adds.", after=2),
        verdict("(revision 1)", "approve", run="r2"),
    ]
    files = {"sums.py": WRONG.encode(), "test_sums.py": TEST.encode()}
    journey = Journey.plan(tmp_path, turns, sandbox, files)
    await journey.begin(JobInput("Add.", files=tuple(files)))
    ran = journey.told("run_finished")
    assert [(run["tool"], run["succeeded"]) for run in ran] == [(tool, False), (tool, True)]
    (repair,) = journey.told("repaired")
    assert (repair["fixed"], repair["lines"]) == (True, {"added": 1, "removed": 1})
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_refused_call_is_not_what_is_run_again(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    fix = call("edit_file", path="sums.py", old_text="a - b", new_text="a + b")
    bad = call("run_tests", paths=["../elsewhere"])
    turns = [
        PLAN,
        turn("executor", "Add.", call("run_tests", paths=["test_sums.py"]), after=0),
        turn("executor", "hint (", fix, bad, after=1),
        turn("executor", "error:", "It adds.", after=2),
        verdict("(revision 1)", "approve", run="r2"),
    ]
    files = {"sums.py": WRONG.encode(), "test_sums.py": TEST.encode()}
    journey = Journey.plan(tmp_path, turns, sandbox, files)
    await journey.begin(JobInput("Add.", files=tuple(files)))
    assert [run["succeeded"] for run in journey.told("run_finished")] == [False, True]
    assert (await journey.outcome()).approved_by == "critic"
