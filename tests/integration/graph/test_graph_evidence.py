"""The approval of a job, and the results of a job without an approval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.graph.graphs import (
    PLAN,
    Journey,
    PlannedSandbox,
    call,
    needs,
    only,
    printed,
    turn,
    verdict,
)

from agents.errors import BudgetExhausted, ModelRefused, ModelUnavailable
from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryBudget
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from lab.provider import ProviderServer, Refusal, Reply, ToolCall

TASK = "Add two numbers."


def job(folder: Path, *turns: Any, works: bool = True) -> Journey:
    """A job of one run, which continues with these turns."""
    result = printed("1\n") if works else printed(error="AssertionError\n", code=1)
    return Journey.plan(folder, turns, PlannedSandbox({"1": result, "2": printed("2\n")}))


WORK = [
    Reply(tool_calls=(ToolCall("Plan", {"steps": ["A.", "B.", "C."]}),)),
    Reply(tool_calls=(ToolCall("python", {"code": "1"}),)),
    Reply("Done."),
]


async def served(
    journey: Journey, *replies: Reply | Refusal, last_try: bool = False, **bounds: Any
) -> int:
    """Let a provider's model do the job; returns the number of requests."""
    with ProviderServer(list(replies)) as server:
        urls = {"groq": server.groq_url}
        pool = ModelPool(ModelOptions(api_keys={"groq": "key"}, base_urls=urls, max_retries=0))
        models = RoleModels.alone(pool, "groq:llama-3.3-70b-versatile")
        journey.ports = journey.with_ports(
            models=models, last_try=last_try, bounds=Bounds(**bounds)
        )
        try:
            await journey.begin(job_fields(TASK, max_revisions=2))
        finally:
            await pool.aclose()
        return len(server.requests)


async def test_a_job_waits_for_an_unavailable_critic(tmp_path: Path) -> None:
    """A short outage must not end the job."""
    with pytest.raises(ModelUnavailable):
        await served(job(tmp_path), *WORK, *[Refusal(503)] * 20)


@pytest.mark.parametrize("works", [True, False])
async def test_in_the_last_try_an_unavailable_critic_means_no_approval(
    tmp_path: Path, works: bool
) -> None:
    """Even if the runs succeeded, the job ends unapproved with its present result."""
    journey = job(tmp_path, works=works)
    await served(journey, *WORK, *[Refusal(503, "no room")] * 20, last_try=True)
    critique = only(journey.event_data("critiqued"))
    assert (critique["verdict"], critique["by"], critique["runs"]) == ("revise", "rules", [])
    assert critique["ends"].startswith("the critic's model could not be reached: groq:llama-3.3")
    assert "(503: no room)" in critique["ends"]
    outcome = await journey.outcome()
    assert (outcome.approved, outcome.exhausted, outcome.answer) == (False, True, "Done.")
    assert "Not approved: the critic's model could not be reached" in outcome.summary
    assert outcome.verification is not None
    assert outcome.verification["holds"] is works


async def test_a_critic_whose_request_is_refused_shows_the_provider_s_sentence(
    tmp_path: Path,
) -> None:
    journey = job(tmp_path)
    await served(journey, *WORK, Refusal(400, "Unsupported value: 'messages'"))
    critique = only(journey.event_data("critiqued"))
    assert critique["ends"].startswith("the critic's model refuses the request: groq:llama-3.3")
    assert "(400: Unsupported value: 'messages')" in critique["ends"]


@pytest.mark.parametrize(
    "refusal",
    [Refusal(401, "Invalid API Key"), Refusal(400, "Your credit balance is too low")],
    ids=["key", "credit"],
)
async def test_a_critic_without_a_valid_account_fails_the_job_as_every_role_does(
    tmp_path: Path, refusal: Refusal
) -> None:
    """The message names the remedy, and a retry of the job asks the critic again."""
    journey = job(tmp_path)
    with pytest.raises(ModelRefused, match=refusal.message):
        await served(journey, *WORK, refusal)
    assert journey.event_data("critiqued") == []


async def test_an_unreadable_verdict_is_no_approval(tmp_path: Path) -> None:
    journey = job(tmp_path)
    odd = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "fine"}),))
    await served(journey, *WORK, odd, Reply("Approved, I guess."))
    critique = only(journey.event_data("critiqued"))
    assert (critique["by"], critique["verdict"]) == ("rules", "revise")
    assert critique["ends"] == (
        "the critic's reply could not be read: the reply does not call Verdict"
    )
    assert (await journey.outcome()).approved is False


CHECK = ["python", "-c", "from sums import add; assert add(1, 2) == 3"]
WRONG, RIGHT = "def add(a, b): return a - b\n", "def add(a, b): return a + b\n"


def wrote(expect: str, content: str, after: int) -> Any:
    """The executor writes the file and verifies it."""
    write = call("write_file", path="sums.py", content=content)
    return turn("executor", expect, write, call("verify", command=CHECK), after=after)


def adding(folder: Path, *turns: Any) -> Journey:
    sandbox = PlannedSandbox({CHECK[-1]: needs("sums.py", RIGHT.encode())})
    return Journey.plan(folder, [PLAN, *turns], sandbox)


async def test_a_larger_budget_continues_the_pass_at_the_call_that_did_not_fit(
    tmp_path: Path,
) -> None:
    """Half a pass is not judged, because its answer would not be the model's."""
    fix = turn(
        "executor", "exit code 1", call("write_file", path="sums.py", content=RIGHT), after=1
    )
    answer = turn("executor", "wrote sums.py", "It adds.", after=2)
    journey = adding(
        tmp_path, wrote(TASK, WRONG, 0), fix, answer, verdict("(revision 1)", "approve")
    )
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, most=330))
    with pytest.raises(BudgetExhausted):
        await journey.begin(job_fields(TASK))
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            await journey.go_on()
    calls = journey.event_data("model_called")
    assert (
        len(calls) == len({charge["call"] for charge in calls}) == len(journey.record.charges) == 3
    )
    assert journey.event_data("critiqued") == journey.event_data("verified") == []
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record))
    await journey.go_on()
    outcome = await journey.outcome()
    assert (outcome.approved, outcome.answer) == (True, "It adds.")
    assert [call["role"] for call in journey.event_data("model_called")[3:]] == [
        "executor",
        "critic",
    ]
    assert [run["succeeded"] for run in journey.event_data("run_finished")] == [False, True]


async def test_the_best_revision_is_the_result_with_its_own_files(tmp_path: Path) -> None:
    journey = adding(
        tmp_path,
        wrote(TASK, RIGHT, 0),
        turn("executor", "exit code 0", "It adds.", after=1),
        turn("critic", "(revision 1)", call("Verdict", verdict="revise", feedback="1")),
        wrote("sent back", WRONG, 2),
        turn("executor", "exit code 1", "It does not.", after=3),
        turn("critic", "(revision 2)", call("Verdict", verdict="revise", feedback="2")),
    )
    await journey.begin(job_fields(TASK, max_revisions=2))
    outcome = await journey.outcome()
    assert (outcome.answer, outcome.exhausted) == ("It adds.", True)
    assert outcome.verification == journey.event_data("verified")[0]
    assert await journey.ports.workspace.read("sums.py") == RIGHT.encode()
    assert only(outcome.artifacts)["size"] == len(RIGHT)
    assert journey.record.workspace == journey.ports.workspace.digest
    assert "It adds." in outcome.summary
