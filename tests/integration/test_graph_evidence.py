"""What may be approved, and who says so: the failings of the systems Fettle is modelled on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from graph_house import PLAN, Journey, PlannedSandbox, call, only, printed, turn, verdict

from agents.errors import BudgetExhausted
from agents.job import JobInput
from agents.memory import MemoryBudget
from agents.models import ModelOptions, ModelPool, ModelUnavailable
from agents.ports import Bounds
from agents.role_models import RoleModels
from bench.provider import ProviderServer, Refusal, Reply, ToolCall
from sandbox.protocol import Command, Limits, RunResult

TASK = "Add two numbers."
CHECK = "from sums import add; assert add(1, 2) == 3"
WRONG, RIGHT = "def add(a, b): return a - b\n", "def add(a, b): return a + b\n"


class SumsSandbox(PlannedSandbox):
    """Runs CHECK on the file that is there: it fails until that adds."""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        await super().run(command, limits)
        works = command.files.get("sums.py") == RIGHT.encode()
        return printed("ok\n") if works else printed(error="AssertionError\n", code=1)


def wrote(expect: str, content: str, after: int) -> Any:
    return turn(
        "executor", expect, call("write_file", path="sums.py", content=content), after=after
    )


BROKEN = [
    PLAN,
    wrote(TASK, WRONG, 0),
    turn("executor", "wrote sums.py", call("python", code=CHECK), after=1),
]


NEVER_SAID = [
    turn("executor", "wrote sums.py", "It adds.", after=3),
    verdict("(revision 1)", "approve"),
]
"""What is beyond the budget."""


def job(folder: Path, *turns: Any, bounds: Bounds | None = None) -> Journey:
    sandbox = SumsSandbox({CHECK: printed("ok\n"), "1": printed("1\n")})
    return Journey.plan(folder, [*BROKEN, *turns], sandbox, bounds=bounds)


async def test_the_last_repair_that_was_paid_for_is_always_run(tmp_path: Path) -> None:
    """The mended file comes with the last call that the bound on steps allows."""
    journey = job(
        tmp_path,
        wrote("exit code 1", RIGHT, 2),
        verdict("=== r2, revision 1: exit code 0", "approve", run="r2"),
        bounds=Bounds(steps=3),
    )
    await journey.begin(JobInput(TASK, max_revisions=1))
    assert [run["succeeded"] for run in journey.told("run_finished")] == [False, True]
    repair = only(journey.told("repaired"))
    assert (repair["run"], repair["of"], repair["fixed"]) == ("r2", "r1", True)
    assert "-def add(a, b): return a - b\n+def add(a, b): return a + b" in repair["diff"]["text"]
    assert (await journey.outcome()).approved_by == "critic"


async def test_the_last_repair_is_run_where_the_model_only_claims_success(tmp_path: Path) -> None:
    journey = job(
        tmp_path,
        wrote("exit code 1", "def add(a, b): return a * b\n", 2),
        turn("executor", "wrote sums.py", "It works now.", after=3),
        verdict("=== r2, revision 1: exit code 1", "approve", run="r1"),
    )
    await journey.begin(JobInput(TASK, max_revisions=1))
    critique = only(journey.told("critiqued"))
    assert (critique["verdict"], critique["overruled"]) == ("revise", "no run has succeeded")
    assert (await journey.outcome()).approved is False


async def test_the_last_repair_is_run_where_the_budget_is_spent(tmp_path: Path) -> None:
    """What was paid for is run and handed back; the job still ends for its budget."""
    journey = job(tmp_path, wrote("exit code 1", RIGHT, 2), *NEVER_SAID)
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, most=440))
    with pytest.raises(BudgetExhausted):
        await journey.begin(JobInput(TASK))
    assert [run["succeeded"] for run in journey.told("run_finished")] == [False, True]
    ended = await journey.outcome()
    assert (ended.approved, ended.artifacts[0]["name"]) == (False, "sums.py")
    assert "spent its budget" in ended.answer


async def test_nothing_is_run_again_where_nothing_was_written(tmp_path: Path) -> None:
    journey = job(
        tmp_path,
        wrote("exit code 1", RIGHT, 2),
        turn("executor", "wrote sums.py", call("python", code=CHECK), after=3),
        turn("executor", "exit code 0", "It adds.", after=4),
        verdict("=== r2", "approve", run="r2"),
    )
    await journey.begin(JobInput(TASK))
    assert len(journey.told("run_finished")) == 2


async def test_what_was_run_must_be_what_is_delivered(tmp_path: Path) -> None:
    """A file that is broken after its successful run is run again, and so never approved."""
    journey = job(
        tmp_path,
        wrote("exit code 1", RIGHT, 2),
        turn("executor", "wrote sums.py", call("python", code=CHECK), after=3),
        wrote("exit code 0", WRONG, 4),
        turn("executor", "wrote sums.py", "Tidied up.", after=5),
        verdict("(revision 1)", "approve", run="r2"),
    )
    await journey.begin(JobInput(TASK, max_revisions=1))
    assert [run["succeeded"] for run in journey.told("run_finished")] == [False, True, False]
    critique = only(journey.told("critiqued"))
    changed = "files were changed after the last run that succeeded"
    assert (critique["verdict"], critique["overruled"]) == ("revise", changed)


async def test_a_critic_s_fail_is_never_a_success(tmp_path: Path) -> None:
    """However well the runs went, and whatever the score beside it."""
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="1"), after=0),
        turn("executor", "exit code 0", "Done.", after=1),
        turn(
            "critic", "(revision 1)",
            call("Verdict", verdict="revise", feedback="It adds nothing.", run="r1", score=1.0),
        ),
    ]  # fmt: skip
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"1": printed("1\n")}))
    await journey.begin(JobInput(TASK, max_revisions=1))
    ended = await journey.outcome()
    assert (ended.approved, ended.approved_by, ended.exhausted) == (False, None, True)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"score": 0.4}, "the critic's score of 0.4 is below 0.7"),
        ({"failed": ["no sum"]}, "the critic names criteria that are not met: no sum"),
    ],
)
async def test_an_approval_that_its_own_figures_contradict_is_none(
    tmp_path: Path, more: dict[str, Any], why: str
) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="1"), after=0),
        turn("executor", "exit code 0", "Done.", after=1),
        turn("critic", "(revision 1)", call("Verdict", verdict="approve", run="r1", **more)),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"1": printed("1\n")}))
    await journey.begin(JobInput(TASK, max_revisions=1))
    critique = only(journey.told("critiqued"))
    assert (critique["verdict"], critique["overruled"]) == ("revise", why)


async def test_the_same_work_twice_ends_the_job_and_says_so(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="1"), after=0),
        turn("executor", "exit code 0", "Done.", after=1),
        verdict("(revision 1)", "revise", "Add them."),
        turn("executor", "Add them.", call("python", code="1"), after=2),
        turn("executor", "exit code 0", "Done.", after=3),
        verdict("(revision 2)", "revise", "Add them at last."),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox({"1": printed("1\n")}))
    await journey.begin(JobInput(TASK, max_revisions=9))
    first, second = journey.told("critiqued")
    assert (first["ends"], second["ends"]) == (None, "two revisions in a row came to the same")
    ended = await journey.outcome()
    assert (ended.exhausted, ended.ends) == (True, second["ends"])
    assert "Not approved: two revisions in a row came to the same, and" in ended.summary


WORK = [
    Reply(tool_calls=(ToolCall("Plan", {"steps": ["A.", "B.", "C."]}),)),
    Reply(tool_calls=(ToolCall("python", {"code": "1"}),)),
    Reply("Done."),
]


async def outage(folder: Path, *, last_try: bool, works: bool = True) -> Journey:
    """A job whose critic's model is down."""
    result = printed("1\n") if works else printed(error="AssertionError\n", code=1)
    journey = Journey.plan(folder, [], PlannedSandbox({"1": result}))
    with ProviderServer([*WORK, *[Refusal(503)] * 20]) as server:
        options = ModelOptions(
            api_keys={"groq": "key"}, base_urls={"groq": server.groq_url}, max_retries=0
        )
        pool = ModelPool(options)
        models = RoleModels.alone(pool, "groq:llama-3.3-70b-versatile")
        journey.ports = journey.with_ports(models=models, last_try=last_try)
        try:
            await journey.begin(JobInput(TASK, max_revisions=2))
        finally:
            await pool.aclose()
    return journey


async def test_a_critic_that_is_away_is_waited_for(tmp_path: Path) -> None:
    """A short outage must not leave the judgement to the rules."""
    with pytest.raises(ModelUnavailable):
        await outage(tmp_path, last_try=False)


async def test_in_the_last_try_the_rules_decide_for_a_critic_that_is_away(tmp_path: Path) -> None:
    journey = await outage(tmp_path, last_try=True)
    critique = only(journey.told("critiqued"))
    assert (critique["verdict"], critique["by"], critique["run"]) == ("approve", "rules", "r1")
    assert critique["overruled"] == "the critic's model could not be reached, so the rules decided"
    ended = await journey.outcome()
    assert ended.approved_by == "rules"
    assert ended.summary.endswith("Approved by the rules alone, on the evidence.")


async def test_a_model_outage_is_no_success_with_empty_code(tmp_path: Path) -> None:
    """Where nothing was seen to work the rules approve nothing, and the outage ends the job."""
    with pytest.raises(ModelUnavailable):
        await outage(tmp_path, last_try=True, works=False)


@pytest.mark.parametrize("status", [401, 503])
async def test_whoever_sums_up_and_is_away_changes_nothing(tmp_path: Path, status: int) -> None:
    journey = Journey.plan(tmp_path, [], PlannedSandbox({"1": printed("1\n")}))
    long = "It adds. " * 100
    verdict = ToolCall("Verdict", {"verdict": "approve", "run": "r1"})
    said = [*WORK[:2], Reply(long), Reply(tool_calls=(verdict,)), *[Refusal(status)] * 5]
    with ProviderServer(said) as server:
        urls = {"groq": server.groq_url}
        pool = ModelPool(ModelOptions(api_keys={"groq": "key"}, base_urls=urls, max_retries=0))
        models = RoleModels.alone(pool, "groq:llama-3.3-70b-versatile")
        journey.ports = journey.with_ports(models=models, bounds=Bounds(sums_up=True))
        await journey.begin(JobInput(TASK))
        await pool.aclose()
        assert len(server.requests) == 5
    ended = await journey.outcome()
    assert ended.approved_by == "critic"
    assert ended.summary.startswith("It adds. It adds.")
    assert ended.summary.endswith(" ... Approved by the critic.")


async def test_a_critic_that_cannot_be_read_leaves_it_to_the_rules(tmp_path: Path) -> None:
    journey = Journey.plan(tmp_path, [], PlannedSandbox({"1": printed("1\n")}))
    odd = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "score": 95}),))
    with ProviderServer([*WORK, odd, Reply("Approved, I guess.")]) as server:
        urls = {"groq": server.groq_url}
        pool = ModelPool(ModelOptions(api_keys={"groq": "key"}, base_urls=urls, max_retries=0))
        models = RoleModels.alone(pool, "groq:llama-3.3-70b-versatile")
        journey.ports = journey.with_ports(models=models)
        await journey.begin(JobInput(TASK))
        await pool.aclose()
    critique = only(journey.told("critiqued"))
    assert (critique["by"], critique["verdict"]) == ("rules", "approve")
    assert "could not be read" in critique["overruled"]
    assert (await journey.outcome()).approved_by == "rules"


async def test_what_was_paid_is_counted_once_although_the_job_fails_later(tmp_path: Path) -> None:
    journey = job(tmp_path, wrote("exit code 1", RIGHT, 2), *NEVER_SAID)
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, most=440))
    with pytest.raises(BudgetExhausted):
        await journey.begin(JobInput(TASK))
    for _ in range(2):
        with pytest.raises(BudgetExhausted):
            await journey.go_on()
    calls = journey.told("model_called")
    assert len(calls) == len({each["call"] for each in calls}) == len(journey.record.charges) == 4
    assert journey.record.tokens == 4 * 110


async def test_the_best_revision_is_handed_back_with_its_own_files(tmp_path: Path) -> None:
    turns = [
        PLAN,
        wrote(TASK, RIGHT, 0),
        turn("executor", "wrote sums.py", call("python", code=CHECK), after=1),
        turn("executor", "exit code 0", "It adds.", after=2),
        turn("critic", "(revision 1)", call("Verdict", verdict="revise", feedback="1", score=0.9)),
        wrote("sent back", WRONG, 3),
        turn("executor", "sums.py", call("python", code=CHECK), after=4),
        turn("executor", "exit code 1", "It does not.", after=5),
        turn("critic", "(revision 2)", call("Verdict", verdict="revise", feedback="2", score=0.1)),
    ]
    journey = Journey.plan(tmp_path, turns, SumsSandbox({CHECK: printed()}))
    await journey.begin(JobInput(TASK, max_revisions=2))
    ended = await journey.outcome()
    assert (ended.answer, ended.exhausted) == ("It adds.", True)
    assert await journey.ports.workspace.read("sums.py") == RIGHT.encode()
    assert only(ended.artifacts)["size"] == len(RIGHT)
    assert journey.record.workspace == journey.ports.workspace.digest
    assert "It adds." in ended.summary
