"""The results of the critic's own runs, with the real sandbox."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.graph.graphs import PLAN, Journey, Written, call, only, turn

from agents.graph.job_input import job_fields
from agents.ports.checks import Checks
from sandbox.local import LocalSandbox

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
TASK = "Write add(a, b) in sums.py."
ADD = "def add(a, b):\n    return a + b\n"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
CHECKS = Checks({"test_hidden.py": TEST.replace("test_add", "test_hidden")})
WORK = [
    PLAN,
    turn("executor", TASK, call("write_file", path="sums.py", content=ADD),
         call("write_file", path="test_sums.py", content=TEST), call("verify", paths=["."]),
         after=0),
    turn("executor", "1 passed", "It adds.", after=1),
]  # fmt: skip
APPROVES = call("Verdict", verdict="approve")

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(PYTHON, pool_size=1)
    try:
        yield local
    finally:
        await local.close()


async def judged(
    folder: Path, sandbox: LocalSandbox, *critic: Written, checks: Checks | None = None
) -> tuple[Journey, list[Mapping[str, Any]]]:
    """The approved job, and the uses of tools by its critic."""
    journey = Journey.plan(folder, [*WORK, *critic], sandbox)
    journey.ports = journey.with_ports(checks=checks)
    await journey.begin(job_fields(TASK, checks=checks is not None))
    assert (await journey.outcome()).approved
    files = (await journey.ports.workspace.tree()).files
    assert files == {"sums.py": ADD.encode(), "test_sums.py": TEST.encode()}
    assert [run["id"] for run in journey.event_data("run_finished")] == ["r1"]
    return journey, [data for data in journey.event_data("tool_used") if data.get("by")]


async def test_a_command_of_the_critic_runs_over_a_copy_of_the_files(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    script = "python - <<'END'\nfrom sums import add\nprint(add('a', 'b'))\nEND\nrm sums.py\nls"
    _, (searched, ran, again) = await judged(
        tmp_path,
        sandbox,
        turn("critic", "(revision 1)", call("search", pattern="return"),
             call("run_again", command=script), after=0),
        turn("critic", "deleted files: sums.py", call("run_again", command="cat sums.py"), after=1),
        turn("critic", "return a + b", APPROVES, after=2),
    )  # fmt: skip
    assert (searched["ok"], ran["ok"], again["ok"]) == (True, True, True)
    assert ran["output"].startswith("exit code 0\n\nstdout:\nab\n")


async def test_a_script_of_the_critic_names_the_command_that_failed(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    script = "ls\ngrep -n pow sums.py\nls test_sums.py"
    _, (ran,) = await judged(
        tmp_path,
        sandbox,
        turn("critic", "(revision 1)", call("run_again", command=script), after=0),
        turn("critic", "line 2 of 3: `grep -n pow sums.py` exited 1", APPROVES, after=1),
    )
    assert ran["ok"] is False


async def test_the_verification_is_run_again(tmp_path: Path, sandbox: LocalSandbox) -> None:
    journey, (again,) = await judged(
        tmp_path,
        sandbox,
        turn("critic", "(revision 1)", call("run_again"), after=0),
        turn("critic", "1 passed", APPROVES, after=1),
    )
    assert (again["note"], again["ok"]) == (only(journey.event_data("verified"))["command"], True)


async def test_acceptance_checks_are_run_again(tmp_path: Path, sandbox: LocalSandbox) -> None:
    _, (again,) = await judged(
        tmp_path,
        sandbox,
        turn("critic", "(revision 1)", call("run_again"), after=0),
        turn("critic", "passed test_hidden.py::test_hidden", APPROVES, after=1),
        checks=CHECKS,
    )
    assert (again["note"], again["ok"]) == ("the acceptance checks", True)


async def test_a_critic_of_work_that_was_never_run_needs_a_command(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    revises = call("Verdict", verdict="revise", feedback="Run it.")
    turns = [
        PLAN,
        turn("executor", TASK, "I promise.", after=0),
        turn("critic", "(revision 1)", call("run_again"), after=0),
        turn("critic", "nothing has verified these files", revises, after=1),
    ]
    journey = Journey.plan(tmp_path, turns, sandbox)
    await journey.begin(job_fields(TASK, max_revisions=1))
    assert only(journey.event_data("tool_used"))["ok"] is False
