"""The whole graph, without a service around it."""

from __future__ import annotations

from pathlib import Path

from graph_house import PLAN, Journey, PlannedSandbox, call, only, printed, turn, verdict

from agents.job import JobInput

TASK = "Add two numbers."


async def test_a_job_that_works_at_once(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="print(1 + 1)")),
        turn("executor", "exit code 0\n\nstdout:\n2", "It prints 2.", after=1),
        verdict("=== r1, revision 1: exit code 0", "approve", run="r1"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"print(1 + 1)": printed("2\n")}))
    await journey.begin(JobInput(TASK))
    ended = await journey.outcome()
    assert (ended.approved, ended.approved_by, ended.answer) == (True, "critic", "It prints 2.")
    assert journey.kinds() == [
        "model_called", "planned", "model_called", "run_finished", "model_called", "answered",
        "model_called", "critiqued", "summarized",
    ]  # fmt: skip
    run = only(journey.told("run_finished"))
    assert (run["id"], run["number"], run["revision"], run["succeeded"]) == ("r1", 1, 1, True)
