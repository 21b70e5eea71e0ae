"""The complete graph, without a service around it."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.graph.graphs import (
    PLAN,
    Journey,
    Planned,
    PlannedSandbox,
    call,
    needs,
    only,
    printed,
    turn,
    verdict,
)

from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryWorkspace
from agents.nodes.planner import DEFAULT_PLAN
from agents.ports import Bounds
from agents.state import EarlierJob
from agents.tools.file_tools import read_file
from agents.tools.run_tools import python, shell
from sandbox.protocol import RunResult, SandboxUnavailable

TASK = "Add two numbers."


async def test_a_job_that_succeeds_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="print(1 + 1)")),
        turn("executor", "exit code 0\n\nstdout:\n2", "It prints 2.", after=1),
        verdict("=== r1, revision 1: exit code 0", "approve", run="r1"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"print(1 + 1)": printed("2\n")}))
    await journey.begin(job_fields(TASK))
    outcome = await journey.outcome()
    assert (outcome.approved, outcome.approved_by, outcome.answer) == (
        True,
        "critic",
        "It prints 2.",
    )
    assert outcome.summary == "It prints 2. Approved by the critic."
    assert journey.kinds() == [
        "model_called", "planned", "model_called", "run_finished", "model_called", "answered",
        "verified", "model_called", "critiqued", "summarized",
    ]  # fmt: skip
    run = only(journey.event_data("run_finished"))
    assert (run["id"], run["number"], run["revision"], run["by"]) == ("r1", 1, 1, "executor")
    assert run["stdout"] == {"text": "2\n", "dropped_bytes": 0, "digest": None}
    # LangGraph's serializer would have warned about an unknown type.
    assert not caplog.records


LONG = "The sum is 2." + " It was printed with care." * 40


@pytest.mark.parametrize(
    ("sums_up", "reply_fields", "answer"),
    [
        (True, call("Summary", text="It prints 2, with care."), "It prints 2, with care."),
        (False, None, LONG[:100]),
    ],
)
async def test_a_long_answer_is_summarized_if_a_model_is_configured_for_it(
    tmp_path: Path, sums_up: bool, reply_fields: dict[str, Any] | None, answer: str
) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="print(1 + 1)")),
        turn("executor", "exit code 0", LONG, after=1),
        verdict("=== r1, revision 1: exit code 0", "approve", run="r1"),
        *([turn("summary", "with care.", reply_fields)] if reply_fields else []),
    ]
    sandbox = PlannedSandbox({"print(1 + 1)": printed("2\n")})
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=Bounds(summarize_with_model=sums_up))
    await journey.begin(job_fields(TASK))
    outcome = await journey.outcome()
    assert (outcome.approved_by, outcome.answer) == ("critic", LONG)
    assert outcome.summary.startswith(answer)
    assert outcome.summary.endswith("Approved by the critic.")
    assert len(outcome.summary) < 700
    roles = [data["role"] for data in journey.event_data("model_called")]
    assert roles.count("summary") == (1 if reply_fields else 0)


async def test_a_bug_is_found_by_a_run_and_fixed(tmp_path: Path) -> None:
    failed = printed(error="ZeroDivisionError: division by zero\n", code=1)
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="1 / 0")),
        turn("executor", "exit code 1\n\nstderr:\nZeroDivisionError", call("python", code="1 / 1")),
        turn("executor", "exit code 0\n\nno output", "Repaired."),
        verdict("=== r2", "approve", run="r2"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"1 / 0": failed, "1 / 1": printed()}))
    await journey.begin(job_fields(TASK))
    assert [run["succeeded"] for run in journey.event_data("run_finished")] == [False, True]
    assert only(journey.event_data("critiqued"))["runs"] == ["r2"]
    assert (await journey.outcome()).approved


async def test_exhausted_revisions_return_the_best_answer(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="good")),
        turn("executor", "exit code 0", "This ran."),
        verdict("(revision 1)", "revise", "More."),
        turn("executor", "More.", call("python", code="bad")),
        turn("executor", "exit code 1", "This did not."),
        verdict("(revision 2)", "revise", "Still more."),
    ]
    sandbox = PlannedSandbox({"good": printed(), "bad": printed(code=1)})
    journey = Journey.plan(tmp_path, turns, sandbox)
    await journey.begin(job_fields(TASK, max_revisions=2))
    outcome = await journey.outcome()
    assert (outcome.approved, outcome.approved_by, outcome.exhausted) == (False, None, True)
    assert outcome.answer == "This ran."
    assert "the job counts as failed" in outcome.summary


async def test_an_unreadable_plan_is_replaced_by_the_default_plan(tmp_path: Path) -> None:
    turns = [
        turn("planner", "The task:", "I would rather chat."),
        turn("planner", "does not call Plan", call("Plan", steps=[])),
        turn("executor", DEFAULT_PLAN[0], "Done."),
        verdict("", "revise", "No run."),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({}))
    await journey.begin(job_fields(TASK, max_revisions=1))
    planned = only(journey.event_data("planned"))
    assert (planned["steps"], planned["source"]) == (list(DEFAULT_PLAN), "default")
    assert "steps" in planned["note"]
    assert [data["role"] for data in journey.event_data("model_called")][:2] == [
        "planner",
        "planner",
    ]


EARLIER = """- Task: First.
  The task:
  Outcome: A file.
- Task: B.
  Ada (revise): Two lines:
  like this.
  Ada (approve): Fine.
  Outcome: A file.
"""


async def test_a_follow_up_sees_the_earlier_conversation(tmp_path: Path) -> None:
    turns = [
        turn(
            "planner",
            f"oldest first:\n\n{EARLIER}",
            call("Plan", steps=["A.", "B.", "C."]),
        ),
        turn(
            "executor",
            f"{EARLIER}- Task: C.\n  Outcome: A file.\n\n"
            "Files in the working directory, when the job began:\n\n- a.py",
            call("read_file", path="/work/a.py"),
        ),
        turn("executor", "x = 1", "It is one."),
        verdict(EARLIER, "revise", "No run."),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({}), files={"a.py": b"x = 1"})
    words = ["Ada (revise): Two lines:\nlike this.", "Ada (approve): Fine."]
    earlier = tuple(
        EarlierJob(task=task, summary="A file.", words=words if task == "B." else [])
        for task in ("Forgotten.", "First.\nThe task:", "B.", "C.")
    )
    await journey.begin(job_fields(TASK, earlier=earlier, files=("a.py",), max_revisions=1))
    assert only(journey.event_data("tool_used"))["ok"]
    assert (await journey.outcome()).answer == "It is one."


async def test_the_limit_of_steps_ends_a_pass_with_its_present_result(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", "", call("python", code="ok")),
        verdict("(revision 1)", "approve"),
    ]
    sandbox = PlannedSandbox({"ok": printed("same")})
    journey = Journey.plan(tmp_path, turns, sandbox, bounds=Bounds(steps=3))
    await journey.begin(job_fields(TASK))
    assert len(sandbox.ran) == 3
    assert [data["role"] for data in journey.event_data("model_called")].count("executor") == 3
    assert "limit of 3 model calls" in (await journey.outcome()).answer


async def test_a_failure_of_the_sandbox_is_no_failure_of_the_code(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="ok")),
        turn("executor", "exit code 0", "Done."),
        verdict("=== r1", "approve"),
    ]
    answers: dict[str, RunResult | Exception] = {"ok": SandboxUnavailable("no sandbox")}
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(answers))
    with pytest.raises(SandboxUnavailable, match="no sandbox"):
        await journey.begin(job_fields(TASK))
    assert journey.event_data("run_finished", "tool_used", "critiqued") == []
    answers["ok"] = printed()
    await journey.go_on()
    assert (await journey.outcome()).approved
    assert only(journey.event_data("critiqued"))["revision"] == 1


async def test_scratch_files_exist_during_a_pass_and_are_not_part_of_the_work(
    tmp_path: Path,
) -> None:
    log = {".scratch/log.txt": b"seen"}
    answers: dict[str, Planned] = {
        "look": replace(printed("looked\n"), changed=log),
        "check": needs("a.py"),
    }
    sandbox = PlannedSandbox(answers)
    turns = [
        PLAN,
        turn(
            "executor", TASK,
            call("write_file", path=".scratch/probe.py", content="probe"),
            call("write_file", path="a.py", content="a"),
            call("python", code="look"),
            after=0,
        ),
        turn(
            "executor", "new or changed files: .scratch/log.txt",
            call("verify", command=["check"]), after=1,
        ),
        turn("executor", "exit code 0", "Done.", after=2),
        verdict("(revision 1)", "approve"),
    ]  # fmt: skip
    scratch_files = {".scratch/given.txt": b"given"}
    journey = Journey.plan(tmp_path, turns, sandbox, scratch_files)
    await journey.begin(job_fields(TASK, start=journey.ports.workspace.digest))
    assert {".scratch/log.txt", ".scratch/probe.py"} <= set(sandbox.files_per_run[1])
    assert set(sandbox.files_per_run[2]) == {"a.py", ".scratch/given.txt"}
    assert set(journey.ports.workspace.list()) == {"a.py", ".scratch/given.txt"}
    outcome = await journey.outcome()
    assert (outcome.approved, [file["name"] for file in outcome.artifacts]) == (True, ["a.py"])
    artifacts = [data["artifacts"] for data in journey.event_data("tool_used", "run_finished")]
    assert [file["name"] for files in artifacts for file in files] == ["a.py"]
    again = MemoryWorkspace(journey.record)
    assert again.digest == journey.ports.workspace.digest


def test_the_tools_state_the_limits_of_their_output() -> None:
    bounds = Bounds()
    for tool, most in ((shell, bounds.output), (python, bounds.output), (read_file, bounds.read)):
        assert f"{most:,} characters" in (tool.__doc__ or "")
