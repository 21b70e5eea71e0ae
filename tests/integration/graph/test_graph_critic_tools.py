"""The critic uses tools before it judges: its calls are bounded and journaled, and do not change
the work.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from integration.graph.test_graph_crashes import CrashingJournal
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from support.graph.graphs import (
    PLAN,
    Crash,
    Journey,
    PlannedSandbox,
    Written,
    call,
    needs,
    only,
    printed,
    turn,
)

from agents.errors import BudgetExhausted, Stopped
from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryBudget, MemoryCancel, MemoryJournal, MemoryRecord
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds, Finished
from lab.provider import ProviderServer, Reply, Request, ToolCall

TASK = "Add two numbers."
ADD = "def add(a, b):\n    return a + b\n"
WORK = [
    PLAN,
    turn("executor", TASK, call("write_file", path="add.py", content=ADD)),
    turn("executor", "wrote add.py", call("verify", command=["check"]), after=1),
    turn("executor", "exit code 0", "It adds.", after=2),
]
FLOATS = "python -c 'from add import add; print(add(1.5, 2))'"
APPROVES = call("Verdict", verdict="approve", runs=["r1"])
PROGRAMS = {
    "check": needs("add.py"),
    FLOATS: printed("3.5\n", add__py=b"broken", left__txt=b"x"),
    "false": printed(code=1),
}


def job(folder: Path, *turns: Written, **bounds: Any) -> Journey:
    """A job with one file and one verification; `turns` script its critic."""
    sandbox = PlannedSandbox(PROGRAMS)
    return Journey.plan(folder, [*WORK, *turns], sandbox, bounds=Bounds(**bounds))


def critic(expect: str, *reply: Any, after: int = 0) -> Written:
    return turn("critic", expect, *reply, after=after)


LOOKS = [
    critic("(revision 1)", call("read_file", path="add.py"), call("run_again", command=FLOATS)),
    critic("exit code 0\n\nstdout:\n3.5", call("run_again"), after=1),
    critic("exit code 0", APPROVES, after=2),
]


def used(journey: Journey) -> list[Mapping[str, Any]]:
    """The critic's own uses of tools."""
    return [data for data in journey.event_data("tool_used") if data.get("by") == "critic"]


async def test_a_critic_reads_and_runs_before_its_verdict(tmp_path: Path) -> None:
    journey = job(tmp_path, *LOOKS)
    await journey.begin(job_fields(TASK))
    assert [(use["tool"], use["path"], use["ok"]) for use in used(journey)] == [
        ("read_file", "add.py", True), ("run_again", None, True), ("run_again", None, True),
    ]  # fmt: skip
    assert [use["note"] for use in used(journey)[1:]] == [FLOATS, "check"]
    assert "3.5" in used(journey)[1]["output"]
    roles = [data["role"] for data in journey.event_data("model_called")]
    assert roles.count("critic") == 3
    assert (await journey.outcome()).approved


async def test_the_critics_runs_change_no_file_and_are_no_runs_of_the_job(tmp_path: Path) -> None:
    journey = job(tmp_path, *LOOKS)
    await journey.begin(job_fields(TASK))
    assert [run["id"] for run in journey.event_data("run_finished")] == ["r1"]
    assert only(journey.event_data("verified"))["run"] == "r1"
    assert only(journey.event_data("critiqued"))["runs"] == ["r1"]
    assert (await journey.ports.workspace.tree()).files == {"add.py": ADD.encode()}
    assert [file["name"] for file in (await journey.outcome()).artifacts] == ["add.py"]


async def test_a_critic_that_judges_at_once_needs_one_call(tmp_path: Path) -> None:
    journey = job(tmp_path, critic("(revision 1)", call("read_file", path="add.py"), APPROVES))
    await journey.begin(job_fields(TASK))
    assert used(journey) == []
    assert (await journey.outcome()).approved


async def test_calls_above_the_bound_are_not_made_and_the_verdict_is_forced(tmp_path: Path) -> None:
    reads = [call("read_file", path="add.py", limit=n) for n in (1, 2, 3)]
    turns = [critic("(revision 1)", *reads), critic("no calls are left", APPROVES, after=1)]
    journey = job(tmp_path, *turns, critic_calls=2)
    await journey.begin(job_fields(TASK))
    assert len(used(journey)) == 2
    assert (await journey.outcome()).approved


async def test_without_calls_a_critic_has_only_its_verdict(tmp_path: Path) -> None:
    turns = [
        critic("(revision 1)", "I would like to read add.py."),
        critic("the reply does not call Verdict", APPROVES, after=1),
    ]
    journey = job(tmp_path, *turns, critic_calls=0)
    await journey.begin(job_fields(TASK))
    assert (await journey.outcome()).approved


@pytest.mark.parametrize(
    ("odd_calls", "answer"),
    [
        (call("read_file", path="../secret"), "error: "),
        (call("read_file"), "the arguments of read_file do not fit: path: Field required"),
        (call("read_file", path="sub.py"), "no file 'sub.py'"),
        (call("run_again", command="false"), "exit code 1"),
    ],
)
async def test_a_call_that_fails_is_answered(tmp_path: Path, odd_calls: Any, answer: str) -> None:
    looks = critic("(revision 1)", call("read_file", path="add.py"), odd_calls)
    journey = job(tmp_path, looks, critic(answer, APPROVES, after=1))
    await journey.begin(job_fields(TASK))
    assert [use["ok"] for use in used(journey)] == [True, False]
    assert (await journey.outcome()).approved


async def test_a_run_that_the_critic_made_does_not_count_among_the_next_runs(
    tmp_path: Path,
) -> None:
    """It changes no later run's number, no verification, and no request of the executor."""
    revises = call("Verdict", verdict="revise", unmet=["floats"], feedback="Take floats.")
    journey = job(
        tmp_path,
        critic("(revision 1)", call("run_again", command="false")),
        critic("exit code 1", revises, after=1),
        turn("executor", "Take floats.", "It takes them.", after=3),
        critic("(revision 2)", APPROVES),
    )
    await journey.begin(job_fields(TASK))
    assert [run["id"] for run in journey.event_data("run_finished")] == ["r1"]
    assert [verified["run"] for verified in journey.event_data("verified")] == ["r1", "r1"]
    assert (await journey.outcome()).approved


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("at", range(5, 12))
@pytest.mark.invariant("J13")
async def test_a_crash_repeats_at_most_the_call_in_flight(
    tmp_path: Path, at: int, before: bool
) -> None:
    journey = job(tmp_path, *LOOKS)
    journal = CrashingJournal(journey.record, at, before)
    journey.ports = journey.with_ports(journal=journal)
    with pytest.raises(Crash):
        await journey.begin(job_fields(TASK))
    await journey.go_on()
    assert len(journal.keys) == len(set(journal.keys)) + before
    assert len(used(journey)) == 3
    assert len(journey.event_data("model_called")) == 7
    assert (await journey.outcome()).approved


@dataclass
class StoppingJournal(MemoryJournal):
    """Cancels the job when the critic's first reply is recorded."""

    on: MemoryRecord
    cancel: MemoryCancel

    def __post_init__(self) -> None:
        super().__init__(self.on)

    async def record(self, key: str, finished: Finished) -> None:
        await super().record(key, finished)
        if any(event.data.get("role") == "critic" for event in finished.events):
            self.cancel.cancelled = True


@pytest.mark.invariant("J11")
async def test_no_call_of_the_critic_begins_after_a_cancel(tmp_path: Path) -> None:
    journey, cancel = job(tmp_path, *LOOKS), MemoryCancel()
    journal = StoppingJournal(journey.record, cancel)
    journey.ports = journey.with_ports(journal=journal, cancel=cancel)
    with pytest.raises(Stopped):
        await journey.begin(job_fields(TASK))
    assert used(journey) == []
    assert [data["role"] for data in journey.event_data("model_called")].count("critic") == 1


async def test_a_drained_critique_continues_after_its_last_call(tmp_path: Path) -> None:
    journey, control = job(tmp_path, *LOOKS), RunControl()

    class Draining(MemoryJournal):
        """Requests a drain when the critic's first tool call is recorded."""

        async def record(self, key: str, finished: Finished) -> None:
            await super().record(key, finished)
            if any(event.data.get("by") == "critic" for event in finished.events):
                control.request_drain()

    journey.ports = journey.with_ports(journal=Draining(journey.record))
    with pytest.raises(GraphDrained):
        await journey.begin(job_fields(TASK), control)
    assert (len(used(journey)), journey.event_data("critiqued")) == (2, [])
    await journey.go_on()
    assert len(used(journey)) == 3
    assert len(journey.event_data("model_called")) == 7
    assert (await journey.outcome()).approved


async def test_a_larger_budget_continues_a_critique_where_it_stopped(tmp_path: Path) -> None:
    journey = job(tmp_path, *LOOKS)
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, most=600))
    with pytest.raises(BudgetExhausted):
        await journey.begin(job_fields(TASK))
    assert len(used(journey)) == 2
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record))
    await journey.go_on()
    assert len(used(journey)) == 3
    assert len(journey.record.charges) == 7
    assert (await journey.outcome()).approved


def call_reply(name: str, args: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(name, args),))


PROVIDED = [
    call_reply("Plan", {"steps": ["A."]}),
    call_reply("write_file", {"path": "add.py", "content": ADD}),
    call_reply("verify", {"command": ["check"]}),
    Reply("It adds."),
]
JUDGED = call_reply("Verdict", {"verdict": "approve", "runs": ["r1"]})


async def served(journey: Journey, model: str, *replies: Reply) -> Sequence[Request]:
    """Let a provider's model do the job; returns the critic's requests."""
    provider = model.partition(":")[0]
    with ProviderServer([*PROVIDED, *replies]) as server:
        urls = server.base_urls()
        options = ModelOptions(api_keys={provider: "key"}, base_urls=urls, max_retries=0)
        pool = ModelPool(options)
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, model))
        await journey.begin(job_fields(TASK))
        await pool.aclose()
        return server.requests[len(PROVIDED) :]


TOOLS = ("Verdict", "read_file", "search", "run_again")


@pytest.mark.parametrize(
    "model",
    ["groq:llama-3.3-70b-versatile", "anthropic:claude-sonnet-5", "google_genai:gemini-2.5-pro"],
)
async def test_the_first_request_forces_one_of_the_tools_and_the_verdict_is_the_first(
    tmp_path: Path, model: str
) -> None:
    """A model, or a test's server, that knows only `Verdict` answers in one call."""
    journey = job(tmp_path)
    (request,) = await served(journey, model, JUDGED)
    assert (request.tools, request.forced_tool) == (TOOLS, "Verdict")
    assert (await journey.outcome()).approved


async def test_only_the_verdict_is_offered_after_the_last_call(tmp_path: Path) -> None:
    journey = job(tmp_path, critic_calls=1)
    read = call_reply("read_file", {"path": "add.py"})
    first, second = await served(journey, "groq:llama-3.3-70b-versatile", read, JUDGED)
    assert (first.tools, second.tools) == (TOOLS, ("Verdict",))
    assert (await journey.outcome()).approved


@pytest.mark.parametrize(
    "verdict",
    [
        Reply('{"verdict": "approve", "runs": ["r1"]}'),
        Reply('I approve.\n```json\n{"verdict": "approve"}\n```'),
    ],
)
async def test_a_model_without_tool_calls_judges_in_one_call(
    tmp_path: Path, verdict: Reply
) -> None:
    journey = job(tmp_path)
    assert len(await served(journey, "groq:llama-3.3-70b-versatile", verdict)) == 1
    assert (await journey.outcome()).approved


@pytest.mark.parametrize(
    ("odd", "requests"),
    [
        (call_reply("write_file", {"path": "add.py", "content": "x"}), 2),
        (Reply("Let me look."), 2),
        (Reply(tool_calls=(ToolCall("read_file", {"path": "add.py"}), ToolCall("ls", {}))), 2),
        (call_reply("read_file", '{"path": "add'), 2),
    ],
    ids=["a tool of the executor", "a text", "an unknown tool beside a known one", "half a call"],
)
async def test_an_odd_reply_costs_one_call(tmp_path: Path, odd: Reply, requests: int) -> None:
    journey = job(tmp_path)
    odd_calls = await served(journey, "groq:llama-3.3-70b-versatile", odd, JUDGED)
    assert len(odd_calls) == requests
    assert (await journey.ports.workspace.read("add.py")) == ADD.encode()
    assert (await journey.outcome()).approved


async def test_a_conversation_is_cached_from_its_second_request_on(tmp_path: Path) -> None:
    journey = job(tmp_path)
    read = call_reply("read_file", {"path": "add.py"})
    first, second = await served(journey, "anthropic:claude-sonnet-5", read, JUDGED)
    assert "cache_control" not in first.body
    assert second.body["cache_control"] == {"type": "ephemeral"}
