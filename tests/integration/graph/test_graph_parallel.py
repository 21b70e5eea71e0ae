"""Parallel steps: branches overlap, their files are merged, and one pass joins the results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from support.graph.graphs import (
    ASKED,
    Journey,
    PlannedSandbox,
    Written,
    call,
    only,
    printed,
    turn,
    verdict,
)
from support.graph.parallel_job import (
    ANSWERS,
    BRANCHES,
    JOB,
    JOINING,
    PLAN,
    PROGRAMS,
    TASK,
    TURNS,
    MeetingSandbox,
    branch,
    plan,
    step,
)

from agents.critic.request import critic_messages
from agents.graph.job_input import job_fields
from agents.ports import Bounds
from agents.ports.tool_servers import ServerTool
from agents.state import State

DONE = [
    turn("executor", TASK, call("python", code="whole"), after=0),
    turn("executor", "of the whole", "It works.", after=1),
    verdict("(revision 1)", "approve", run="r1"),
]
"""A job that is done in one pass with any plan."""


async def played(
    folder: Path, turns: Sequence[Written], sandbox: Any = None, **others: Any
) -> Journey:
    journey = Journey.plan(folder, turns, sandbox or PlannedSandbox(ANSWERS))
    journey.ports = journey.with_ports(**others)
    await journey.begin(JOB)
    return journey


async def test_two_steps_run_in_parallel_and_a_third_joins_them(tmp_path: Path) -> None:
    sandbox = MeetingSandbox(ANSWERS)  # neither run ends before both have started
    journey = await played(tmp_path, TURNS, sandbox)
    assert (await journey.outcome()).approved_by == "critic"
    assert sorted(sandbox.ran) == sorted(PROGRAMS)
    files_by_program = dict(zip(sandbox.ran, sandbox.files_per_run, strict=True))
    assert files_by_program["one"] == {"count.txt": b"count"}
    assert files_by_program["two"] == {"draw.txt": b"draw"}
    assert files_by_program["more"] == {"count.txt": b"count", "one.txt": b"1"}
    assert files_by_program["whole"] == {
        "count.txt": b"count", "draw.txt": b"draw", "one.txt": b"1", "two.txt": b"2",
    }  # fmt: skip
    outcome = await journey.outcome()
    assert [artifact["name"] for artifact in outcome.artifacts] == sorted(files_by_program["whole"])
    state = (await journey.graph.aget_state(journey.config)).values
    assert len(state["messages"]) == 4  # only of the joining pass


class Tickets:
    """A server of tickets with one tool."""

    names = ("tickets__read",)
    tools: ClassVar = {"tickets__read": ServerTool("tickets__read", "Read.", {"type": "object"})}

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"content": [{"type": "text", "text": f"Ticket {arguments['number']}."}]}


async def test_the_critic_reads_the_answers_of_servers_to_all_branches(tmp_path: Path) -> None:
    def reading(expect: str, *numbers: int) -> Written:
        calls = [call("tickets__read", number=number) for number in numbers]
        return turn("executor", expect, *calls, after=0)

    turns = [
        PLAN,
        reading("Do step 1 of this plan", *range(101, 113)),
        turn("executor", "Ticket 112.", "Read step 1.", after=1),
        reading("Do step 2 of this plan", 201),
        turn("executor", "Ticket 201.", "Read step 2.", after=1),
        reading("Some of these steps are done", 301, 302),
        turn("executor", "Ticket 302.", "Read all.", after=1),
        turn("executor", ASKED, "No."),
        verdict("Ticket 112.", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({}))
    journey.ports = journey.with_ports(tool_servers=Tickets())
    await journey.begin({**JOB, "max_revisions": 1})
    state = (await journey.graph.aget_state(journey.config)).values
    _, request = await critic_messages(cast("State", state), journey.ports)
    numbers = [int(number) for number in re.findall(r"Ticket (\d+)\.", request.text)]
    assert numbers == [*range(104, 113), 201, 301, 302]


async def test_each_event_of_a_branch_names_its_step(tmp_path: Path) -> None:
    journey = await played(tmp_path, TURNS)
    planned = only(journey.event_data("planned"))
    assert (planned["waves"], planned["note"]) == ([[1, 2]], "")
    assert planned["steps"] == ["Write count.py.", "Write draw.py.", "Join them."]
    started = journey.event_data("step_started")
    assert started == [
        {"step": 1, "revision": 1},
        {"step": 2, "revision": 1},
    ]
    runs = {
        run["code"]["text"]: (run["number"], run.get("step")) for run in _event_data(journey, "run")
    }
    assert runs == {"one": (1, 1), "more": (3, 1), "two": (2, 2), "whole": (4, None)}
    calls = [data.get("step") for data in journey.event_data("model_called")]
    assert sorted(calls, key=str) == [1, 1, 1, 2, 2, None, None, None, None]
    finished_steps = sorted(journey.event_data("step_finished"), key=lambda data: data["step"])
    assert finished_steps == [
        {"step": 1, "revision": 1, "text": "Made step 1.", "runs": ["r1", "r3"]},
        {"step": 2, "revision": 1, "text": "Made step 2.", "runs": ["r2"]},
    ]
    merged = only(journey.event_data("merged"))
    assert (merged["steps"], merged["conflicts"], merged["left_out"]) == ([1, 2], [], [])
    assert merged["files"] == ["count.txt", "draw.txt", "one.txt", "two.txt"]
    kinds = journey.kinds()
    assert kinds.index("step_finished") < kinds.index("merged") < kinds.index("answered")


def _event_data(journey: Journey, kind: str) -> list[Any]:
    return journey.event_data(f"{kind}_finished")


def clash(resolves: str) -> list[Written]:
    """Both branches write sums.txt; the joining pass runs a program that may resolve it."""
    return [
        PLAN,
        *branch(1, "one", path="sums.txt", content="of step 1"),
        *branch(2, "two", path="sums.txt", content="of step 2"),
        turn("executor", "the other versions are", call("python", code=resolves), after=0),
        turn("executor", "of the whole", "Joined.", after=1),
        verdict("(revision 1)", "approve"),
    ]


RESOLVED = replace(
    printed("of the whole\n", sums__txt=b"of both"), deleted=frozenset({"sums.conflict-step2.txt"})
)


async def test_a_conflict_goes_to_the_executor_to_resolve(tmp_path: Path) -> None:
    sandbox = PlannedSandbox({**ANSWERS, "resolve": RESOLVED})
    journey = await played(tmp_path, clash("resolve"), sandbox)
    assert sandbox.files_per_run[-1]["sums.txt"] == b"of step 1"
    assert sandbox.files_per_run[-1]["sums.conflict-step2.txt"] == b"of step 2"
    assert only(journey.event_data("merged"))["conflicts"] == [
        {
            "path": "sums.txt", "steps": [1, 2], "copies": ["sums.conflict-step2.txt"],
            "what": "changed in different ways",
        }
    ]  # fmt: skip
    outcome = await journey.outcome()
    assert outcome.approved_by == "critic"
    assert [artifact["name"] for artifact in outcome.artifacts] == [
        "one.txt",
        "sums.txt",
        "two.txt",
    ]


async def test_a_remaining_copy_prevents_approval(tmp_path: Path) -> None:
    turns = [
        *clash("whole"),
        turn("executor", "copies of conflicting files are left: sums.conflict-step2.txt",
             call("python", code="resolve")),
        turn("executor", "of the whole", "Joined now.", after=3),
        verdict("(revision 2)", "approve"),
    ]  # fmt: skip
    sandbox = PlannedSandbox({**ANSWERS, "resolve": RESOLVED})
    journey = await played(tmp_path, turns, sandbox)
    first, second = journey.event_data("critiqued")
    assert first["overruled"] == "copies of conflicting files are left: sums.conflict-step2.txt"
    assert second["verdict"] == "approve"
    assert len(journey.event_data("merged")) == 1  # a revision is one pass


ZERO = (
    "Files in the working directory, as the steps left them:\n\n"
    f"- zero.txt, complete:\n```\n0\n```\n\nThe task:\n\n{TASK}\n\n"
    "The plan:\n\n1. Zero.\n2. One.\n3. Two.\n4. Join.\n\nDo step 2 of this plan"
)


async def test_a_wave_starts_from_the_files_of_earlier_waves(tmp_path: Path) -> None:
    turns = [
        plan(step("Zero."), step("One.", 1), step("Two.", 1), step("Join.", 2, 3)),
        *branch(1, "whole"),
        turn("executor", ZERO, call("python", code="one"), after=0),
        turn("executor", "of one", "Made step 2.", after=1),
        *branch(3, "two"),
        turn("executor", "do the rest of the plan: step 4", call("python", code="more")),
        turn("executor", "of more", "Joined.", after=1),
        verdict("(revision 1)", "approve"),
    ]
    program = replace(printed("of whole\n", zero__txt=b"0"), executable=frozenset({"zero.txt"}))
    no_program = printed("of one\n", one__txt=b"1", zero__txt=b"0")
    sandbox = PlannedSandbox({**ANSWERS, "whole": program, "one": no_program})
    journey = await played(tmp_path, turns, sandbox)
    assert only(journey.event_data("planned"))["waves"] == [[1], [2, 3]]
    assert [data["steps"] for data in journey.event_data("merged")] == [[1], [2, 3]]
    files_by_program = dict(zip(sandbox.ran, sandbox.files_per_run, strict=True))
    assert files_by_program["one"] == files_by_program["two"] == {"zero.txt": b"0"}
    assert set(files_by_program["more"]) == {"zero.txt", "one.txt", "two.txt"}
    assert (await journey.ports.workspace.tree()).executable == {}, "step 2 has undone the mode"
    assert sorted(run["number"] for run in journey.event_data("run_finished")) == [1, 2, 3, 4]
    assert [data["step"] for data in journey.event_data("step_started")] == [1, 2, 3]


@pytest.mark.parametrize(
    ("steps", "bounds", "reason"),
    [
        (("A.", "B.", "C."), Bounds(), "no two of its steps are independent"),
        (
            (step("A."), step("B.")),
            Bounds(pause_each_run=True),
            "a person is asked after every run",
        ),
        (
            (step("A."), step("B.")),
            Bounds(max_parallel_steps=1),
            "this installation runs one step at a time",
        ),
    ],
)
async def test_a_plan_that_cannot_run_in_parallel_runs_in_order_with_the_reason(
    tmp_path: Path, steps: Sequence[Any], bounds: Bounds, reason: str
) -> None:
    turns = [plan(*steps), *DONE[: 1 if bounds.pause_each_run else 2], DONE[2]]
    journey = await played(tmp_path, turns, bounds=bounds)
    planned = only(journey.event_data("planned"))
    assert planned["note"].startswith(f"the steps are taken one after the other: {reason}")
    assert (planned["waves"], journey.event_data("step_started")) == ([], [])
    assert (await journey.outcome()).approved_by == "critic"


async def test_a_planner_may_report_that_no_parts_are_independent(tmp_path: Path) -> None:
    steps = [step("A."), step("B.")]
    planned = turn("planner", "The task:", call("ParallelPlan", steps=steps, one_by_one=True))
    journey = await played(tmp_path, [planned, *DONE])
    (data,) = journey.event_data("planned")
    reason = "the planner sees no large parts that are independent"
    assert data["note"] == f"the steps are taken one after the other: {reason}"
    assert (data["waves"], journey.event_data("step_started")) == ([], [])
    assert len(journey.event_data("model_called")) == 4  # plan, run, answer, verdict


async def test_the_callers_own_steps_run_in_parallel_if_they_name_the_steps_that_they_need(
    tmp_path: Path,
) -> None:
    steps = ["Write count.py.", "Write draw.py.", "Join them."]
    job = job_fields(TASK, parallel=True, steps=steps, steps_after=[None, [], [1, 2]])
    journey = Journey.plan(tmp_path, TURNS[1:], MeetingSandbox(ANSWERS))
    await journey.begin(job)
    planned = only(journey.event_data("planned"))
    assert (planned["source"], planned["waves"]) == ("caller", [[1, 2]])
    assert (await journey.outcome()).approved_by == "critic"
    in_order = Journey.plan(tmp_path / "in_order", DONE, PlannedSandbox(ANSWERS))
    await in_order.begin(job_fields(TASK, steps=steps, steps_after=[None, [], [1, 2]]))
    assert "waves" not in only(in_order.event_data("planned"))
    assert in_order.event_data("step_started") == []
    assert (await in_order.outcome()).approved_by == "critic"


async def test_the_joining_pass_sees_the_files_of_the_branches_once(tmp_path: Path) -> None:
    expected_text = (
        "Files in the working directory, as the steps left them:\n\n"
        "- count.txt, complete:\n```\ncount\n```\n- draw.txt, complete:\n```\ndraw\n```\n"
        "- one.txt, complete:\n```\n1\n```\n- two.txt, complete:\n```\n2\n```\n\nThe task:"
    )
    joining = [turn("executor", expected_text, call("python", code="whole"), after=0), *JOINING[1:]]
    journey = await played(tmp_path, [PLAN, *BRANCHES, *joining])
    assert (await journey.outcome()).approved_by == "critic"
    state = (await journey.graph.aget_state(journey.config)).values
    assert state["messages"][0].text.count("count.txt") == 1
    assert state["messages"][0].text.count("The task:") == 1
