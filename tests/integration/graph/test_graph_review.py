"""Pauses of the graph, and the decisions that a person can take."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph.graphs import PLAN, Journey, PlannedSandbox, call, only, printed, turn, verdict

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from lab.provider import ProviderServer, Reply, Request, ToolCall

TASK = "Add two numbers."
JOB = job_fields(TASK)
FIRST = [
    PLAN,
    turn("executor", TASK, call("python", code="one")),
    turn("executor", "exit code 0", "First.", after=1),
]
AGAIN = [
    turn("executor", "Use three.", call("python", code="two")),
    turn("executor", "exit code 0", "Second.", after=3),
]
ANSWERS = {"one": printed("1\n", a__txt=b"1"), "two": printed("2\n"), "mine": printed("3\n")}


def paused(tmp_path: Path, *turns: object) -> tuple[Journey, PlannedSandbox]:
    sandbox = PlannedSandbox(ANSWERS)
    both = [*FIRST, *turns]
    bounds = Bounds(review=True)
    return Journey.plan(tmp_path, both, sandbox, bounds=bounds), sandbox  # type: ignore[arg-type]


async def test_a_pause_shows_what_a_person_needs(tmp_path: Path) -> None:
    journey, _ = paused(tmp_path)
    state = await journey.begin(JOB)
    payload = only(state["__interrupt__"]).value
    assert payload["plan"] == ["Write it.", "Run it.", "Mend it."]
    assert (payload["answer"], payload["code"], payload["revision"]) == ("First.", "one", 1)
    assert only(payload["runs"])["stdout"]["text"] == "1\n"
    assert only(payload["artifacts"])["name"] == "a.txt"
    assert (payload["critiques"], payload["decisions"]) == ([], [])
    assert journey.event_data("critiqued") == []


async def test_an_approval_ends_the_job_without_the_critic(tmp_path: Path) -> None:
    journey, _ = paused(tmp_path)
    await journey.begin(JOB)
    await journey.decide("approve")
    outcome = await journey.outcome()
    assert (outcome.approved_by, outcome.override, outcome.answer) == ("Ada", False, "First.")
    assert outcome.summary == "First. Files: a.txt. Approved by Ada."


async def test_feedback_leads_to_another_pass_and_another_pause(tmp_path: Path) -> None:
    journey, sandbox = paused(tmp_path, *AGAIN)
    first = await journey.begin(JOB)
    second = await journey.decide("revise", feedback="Use three.")
    payload = only(second["__interrupt__"]).value
    assert (payload["answer"], payload["code"], payload["revision"]) == ("Second.", "two", 2)
    assert only(payload["decisions"])["feedback"] == "Use three."
    assert [run["id"] for run in payload["runs"]] == ["r1", "r2"]
    assert only(second["__interrupt__"]).id != only(first["__interrupt__"]).id
    assert sandbox.ran == ["one", "two"]


COMMENT = {
    "path": "a.py",
    "line": 2,
    "side": "old",
    "text": "Why not 3?",
    "excerpt": [" x = 1", "-y = 2", "+y = 4"],
    "at": 1,
    "base": 2,
}
HEARD = """
Comment on line 2 of `a.py` as it was before your change, marked with `>` in the change:

```diff
     x = 1
  > -y = 2
    +y = 4
```

Why not 3?

"""


@pytest.mark.parametrize(("feedback", "before"), [("Use three.", "Use three.\n"), ("", "back:\n")])
async def test_comments_come_with_the_lines_around_them(
    tmp_path: Path, feedback: str, before: str
) -> None:
    again = turn("executor", before + HEARD + "Fix this", "Second.", after=2)
    journey, _ = paused(tmp_path, again)
    await journey.begin(JOB)
    second = await journey.decide("revise", feedback=feedback, comments=[COMMENT])
    payload = only(second["__interrupt__"]).value
    assert (payload["answer"], only(payload["decisions"])["comments"]) == ("Second.", [COMMENT])


async def test_a_person_s_code_is_run_unchanged(tmp_path: Path) -> None:
    journey, sandbox = paused(tmp_path)
    await journey.begin(JOB)
    calls = len(journey.event_data("model_called"))
    state = await journey.decide("edit", code="mine")
    payload = only(state["__interrupt__"]).value
    assert (payload["code"], payload["revision"]) == ("mine", 1)
    assert [(run["id"], run["by"]) for run in payload["runs"]] == [
        ("r1", "executor"),
        ("r2", "Ada"),
    ]
    assert len(journey.event_data("model_called")) == calls
    assert sandbox.files_per_run[-1] == {"a.txt": b"1"}


async def test_the_executor_sees_a_person_s_code(tmp_path: Path) -> None:
    heard = "Ada ran this code:\n\n```python\nmine\n```\n\nResult: exit code 0"
    journey, _ = paused(tmp_path, turn("executor", heard, "I see."))
    await journey.begin(JOB)
    await journey.decide("edit", code="mine")
    state = await journey.decide("revise", feedback="Like mine.")
    assert only(state["__interrupt__"]).value["answer"] == "I see."


async def test_delegation_lets_the_critic_decide_this_time(tmp_path: Path) -> None:
    sent_back = verdict("(revision 1)", "revise", "Use three.")
    journey, _ = paused(tmp_path, sent_back, *AGAIN, verdict("(revision 2)", "approve"))
    await journey.begin(JOB)
    state = await journey.decide("delegate")
    payload = only(state["__interrupt__"]).value
    assert only(payload["critiques"])["feedback"] == "Use three."
    await journey.decide("delegate")
    assert (await journey.outcome()).approved_by == "critic"


async def test_words_to_the_critic_reach_the_executor_too(tmp_path: Path) -> None:
    words = (
        "Ada said to the reviewer:\n\nNever use floats.\n\n"
        f"{HEARD.lstrip()}The work was reviewed and sent back:"
    )
    turns = [
        verdict("(revision 1)", "revise", "Round it."),
        turn("executor", words, call("python", code="two")),
        turn("executor", "exit code 0", "Second.", after=3),
    ]
    journey, _ = paused(tmp_path, *turns)
    await journey.begin(JOB)
    state = await journey.decide("delegate", feedback="Never use floats.", comments=[COMMENT])
    assert only(state["__interrupt__"]).value["answer"] == "Second."


async def test_words_with_an_edit_reach_the_next_pass_and_no_later_one(tmp_path: Path) -> None:
    words = "Ada said:\n\nSee my program.\n\nAda ran this code:\n\n```python\nmine\n```\n"
    turns = [
        turn("executor", words, "I see.", after=2),
        turn("executor", "Ada reviewed the work and sent it back:\n\nGood.", "Done.", after=3),
    ]
    journey, _ = paused(tmp_path, *turns)
    await journey.begin(JOB)
    await journey.decide("edit", code="mine", feedback="See my program.")
    await journey.decide("revise", feedback="Like mine.")
    state = await journey.decide("revise", feedback="Good.")
    assert only(state["__interrupt__"]).value["answer"] == "Done."
    request = (await journey.graph.aget_state(journey.config)).values["messages"][-2].text
    assert "See my program." not in request


async def test_people_s_words_are_in_every_later_request(tmp_path: Path) -> None:
    def answer(request: Request) -> Reply:
        if request.forced_tool == "Plan":
            return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Do it."]}),))
        if request.messages[-1].speaker == "tool":
            return Reply("x" * 2_000)
        return Reply(tool_calls=(ToolCall("python", {"code": f"# {'y' * 9_000}"}),))

    journey, _ = paused(tmp_path)
    with ProviderServer(answer) as server:
        urls = {"groq": server.groq_url}
        pool = ModelPool(ModelOptions({"groq": "k"}, urls, context_tokens=16_000))
        models = RoleModels.alone(pool, "groq:m")
        planned = PlannedSandbox({f"# {'y' * 9_000}": printed("1\n")})
        journey.ports = journey.with_ports(models=models, sandbox=planned)
        await journey.begin(JOB)
        for number in range(5):
            await journey.decide("revise", feedback=f"Word {number}.")
        await pool.aclose()
    conversation = "\n".join(message.text for message in server.requests[-1].messages)
    assert all(f"Word {number}." in conversation for number in range(5))
    assert "of your earlier replies are left out here" in conversation


async def test_a_stale_decision_has_no_effect(tmp_path: Path) -> None:
    journey, sandbox = paused(tmp_path, *AGAIN)
    first = await journey.begin(JOB)
    stale = only(first["__interrupt__"]).id
    await journey.decide("revise", feedback="Use three.")
    before = (await journey.graph.aget_state(journey.config)).values
    await journey.resume(stale, action="approve", by="Ada")
    after = await journey.graph.aget_state(journey.config)
    assert after.values == before
    assert after.next == ("review",)
    assert sandbox.ran == ["one", "two"]


GO_ON = "Ada has looked at the run.\n\nGo on with the task from here."


async def test_the_words_of_a_person_at_a_pause_are_no_complaint(tmp_path: Path) -> None:
    conversation = "Ada has looked at the run and says:\n\nUse 3.\n\nGo on with the task from here."
    turns = [
        PLAN,
        turn("executor", TASK, call("python", code="one")),
        turn("executor", conversation, "Done.", after=2),
    ]
    bounds = Bounds(pause_each_run=True, review=True)
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS), bounds=bounds)
    await journey.begin(JOB)
    second = await journey.decide("revise", feedback="Use 3.")
    assert not only(second["__interrupt__"]).value["paused"]


async def test_if_each_run_is_reviewed_no_run_starts_before_the_review_of_the_last(
    tmp_path: Path,
) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("write_file", path="a.txt", content="1"), after=0),
        turn("executor", "wrote a.txt", call("python", code="bad"), after=1),
        turn("executor", GO_ON, call("python", code="good"), after=3),
        verdict("(revision 2)", "approve", run="r2"),
    ]
    sandbox = PlannedSandbox({"bad": printed(code=1), "good": printed("2\n", b__txt=b"2")})
    journey = Journey.plan(
        tmp_path, turns, sandbox, bounds=Bounds(pause_each_run=True, review=True)
    )
    first = await journey.begin(JOB)
    payload = only(first["__interrupt__"]).value
    assert (sandbox.ran, payload["revision"]) == (["bad"], 1)
    assert payload["unproven"] is not None
    assert "A person now looks at it" in payload["answer"]
    assert payload["paused"]
    second = await journey.decide("revise")
    payload = only(second["__interrupt__"]).value
    assert (sandbox.ran, payload["unproven"]) == (["bad", "good"], None)
    await journey.decide("delegate")
    assert (await journey.outcome()).approved_by == "critic"
    assert sandbox.ran == ["bad", "good"]
