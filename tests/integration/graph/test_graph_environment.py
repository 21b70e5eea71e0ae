"""The information of a model about its sandbox, the limits and the remaining replies."""

from __future__ import annotations

from pathlib import Path

from support.graph.graphs import PLAN, Journey, PlannedSandbox, call, printed, turn, verdict

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.ports.environment import SandboxEnvironment
from agents.runs.helper import describe
from lab.provider import ProviderServer, Reply, Request, ToolCall
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, Limits
from settings.sandbox import sandbox_python

TASK = "Add two numbers."


async def test_a_sandbox_describes_its_environment() -> None:
    sandbox = LocalSandbox(sandbox_python(), pool_size=0)
    try:
        environment = await describe(sandbox, Limits())
    finally:
        await sandbox.close()
    assert environment.python.count(".") == 2
    names = {package.partition(" ")[0] for package in environment.packages}
    assert {"numpy", "pandas", "matplotlib", "pytest"} <= names
    assert not names & {"pip", "setuptools"}
    assert all(package.partition(" ")[2] for package in environment.packages)
    assert not any("tree-sitter" in package for package in environment.packages)
    assert {"grep", "sed"} <= set(environment.programs)


def _answer(request: Request) -> Reply:
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Only one."]}),))
    if request.forced_tool == "Verdict":
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "feedback": ""}),))
    return Reply("Done.")


async def test_prompts_describe_the_jobs_sandbox(tmp_path: Path) -> None:
    journey = Journey.plan(tmp_path, [], PlannedSandbox({}))
    with ProviderServer(_answer) as server:
        pool = ModelPool(ModelOptions({"groq": "k"}, {"groq": server.groq_url}))
        journey.ports = journey.with_ports(
            models=RoleModels.alone(pool, "groq:m"),
            environment=SandboxEnvironment("3.12.1", ("polars 1.2", "numpy 2.0"), ("git", "rg")),
            limits=Limits(wall_seconds=90, memory_bytes=2048 * MIB),
            bounds=Bounds(steps=9),
        )
        await journey.begin(job_fields(TASK, max_revisions=1))
        await pool.aclose()
    planner, executor, *_ = (request.messages[0].text for request in server.requests)
    for system in (planner, executor):
        assert "Python 3.12.1 with polars 1.2, numpy 2.0" in system
        assert "git, rg" in system
    assert "90 s and 2048 MiB" in executor
    assert "9 replies" in executor
    assert [step["steps"] for step in journey.event_data("planned")] == [["Only one."]]


async def test_the_last_replies_are_counted(tmp_path: Path) -> None:
    def write(number: int) -> dict[str, object]:
        return call("write_file", path=f"{number}.txt", content="x")

    turns = [
        PLAN,
        turn("executor", TASK, write(1)),
        turn("executor", "4 replies left: call `verify`", write(2), write(3), after=1),
        turn("executor", "3 replies left", write(4), after=2),
        turn("executor", "2 replies left", write(5), after=3),
        turn("executor", "1 reply left: give your answer", "Done.", after=4),
        verdict("", "revise", "Nothing ran."),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({}), bounds=Bounds(steps=5))
    await journey.begin(job_fields(TASK, max_revisions=1, evidence="none"))
    assert journey.event_data("answered")[0]["text"] == "Done."


async def test_a_shell_that_installs_packages_gets_the_reason_for_its_failure(
    tmp_path: Path,
) -> None:
    line = "python -m pip install -q requests"
    turns = [
        PLAN,
        turn("executor", TASK, call("shell", command=line)),
        turn("executor", "hint: A shell command cannot install", "Done.", after=1),
        verdict("", "revise", "Nothing ran."),
    ]
    failed = printed(error="No matching distribution found for requests\n", code=1)
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({line: failed}))
    await journey.begin(job_fields(TASK, max_revisions=1))
    assert journey.event_data("answered")[0]["text"] == "Done."
