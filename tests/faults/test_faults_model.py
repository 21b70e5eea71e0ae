"""Models in trouble: bounded retries, then `model_unavailable`; never a success without code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from support.processes.scene import Scene, Work

from jobs.model.record import Reason, Status
from jobs.model.spec import OnExhausted
from lab.provider import Cut, Garbled, Hang, Refusal, Reply, Request, ToolCall, Turn

MOST = 50
"""More requests than any job of these tests makes."""
TRIES = 4
"""The first, and three after a rest."""
EMPTY = Reply(tool_calls=(ToolCall("python", {"code": "# to be done\n\n"}),))

TROUBLE: Mapping[str, Turn] = {
    "busy": Refusal(429),
    "retry-after": Refusal(429, retry_after=0.2),
    "broken": Refusal(500),
    "overloaded": Refusal(503),
    "silent": Hang(),
    "cut-before": Cut(),
    "cut-within": Cut(Reply(tool_calls=(ToolCall("Plan", {"steps": ["a", "b", "c"]}),))),
    "truncated": Garbled(),
    "no-reply": Garbled("<html>gateway</html>", "text/html"),
}
"""Transient errors: the worker repeats the call after a rest."""


def from_request(number: int, turn: Turn) -> Mapping[int, Turn]:
    """Return the same error from the request with this number on."""
    return dict.fromkeys(range(number, MOST), turn)


@pytest.fixture
async def down(scene: Scene) -> Scene:
    """A deployment with a short timeout for models."""
    scene.deployment.worker(model_timeout_seconds="1", retry_seconds="0.1", retries="3")
    await scene.deployment.ready()
    return scene


async def test_a_model_that_is_down_from_the_start(down: Scene) -> None:
    """The job fails after four attempts without a run, and its detail names the error. A call is
    charged, with unknown usage, only if its reply had begun."""
    for mood, turn in TROUBLE.items():
        await down.submit(mood, Work(instead=from_request(1, turn)))
    for mood in TROUBLE:
        job = await down.end(mood)
        assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE), mood
        assert job.detail, mood
        assert job.result is None or not job.result.answer, mood
        kinds = await down.event_kinds(mood)
        assert not {"model_called", "run_finished", "critiqued"} & set(kinds), mood
        assert (kinds.count("given_back"), len(down.requests_by_model[mood])) == (
            TRIES - 1,
            TRIES,
        ), mood
        lost = TRIES if mood == "cut-within" else 0
        assert await charged(down, mood) == (0, lost), mood
    await down.judge()


async def test_a_model_that_comes_back(down: Scene) -> None:
    """Each kind of error occurs twice. Then the job succeeds, and no answer is paid twice."""
    for mood, turn in TROUBLE.items():
        await down.submit(mood, Work(instead={1: turn, 2: turn, 5: turn}))
    await down.succeeds(*TROUBLE)
    for mood in TROUBLE:
        kinds = await down.event_kinds(mood)
        calls = down.work[mood].calls
        lost = 3 if mood == "cut-within" else 0
        assert await charged(down, mood) == (calls, lost), mood
        assert (kinds.count("model_called"), kinds.count("run_finished")) == (calls, 1), mood
        assert (len(down.requests_by_model[mood]), kinds.count("given_back")) == (calls + 3, 3), (
            mood
        )
    await down.judge()


async def charged(scene: Scene, name: str) -> tuple[int, int]:
    """The charges with usage, and those without."""
    charges = await scene.operations.store.charges(scene.ids[name])
    lost = sum(charge.is_unreported for charge in charges)
    return len(charges) - lost, lost


IN_CIRCLES = "The work ended because the same call was made 5 times in a row."


@pytest.mark.parametrize(
    "reply",
    [
        Reply(tool_calls=(ToolCall("python", '{"code": "print('),), stop="length"),
        EMPTY,
        Reply(tool_calls=(ToolCall("no_such_tool", {}),)),
    ],
    ids=["arguments-cut", "empty-code", "unknown-tool"],
)
async def test_a_model_that_says_nothing_of_use(down: Scene, reply: Reply) -> None:
    """The calls are bounded and charged. The critic approves, but the job has run no code, so it is
    not approved: it ends with its last answer, or as `unapproved`, as the request says."""
    await down.submit(
        "taken", Useless(reply=reply), max_revisions=1, on_exhausted=OnExhausted.ACCEPT
    )
    await down.submit("strict", Useless(reply=reply), max_revisions=1)
    for name, expected_end in (
        ("taken", (Status.SUCCEEDED, None)),
        ("strict", (Status.FAILED, Reason.UNAPPROVED)),
    ):
        job = await down.end(name)
        kinds = await down.event_kinds(name)
        assert (job.status, job.reason) == expected_end, kinds
        assert job.result is not None
        assert job.result.approved_by is None
        assert IN_CIRCLES in job.result.answer
        assert len(down.requests_by_model[name]) < MOST - 1
        charged = await down.operations.store.charges(down.ids[name])
        assert len(charged) == kinds.count("model_called")
    await down.judge()


async def test_a_model_that_says_nothing_is_asked_twice(down: Scene) -> None:
    """An empty reply is no answer (ADR 76). Each of the calls is paid."""
    await down.submit("silent", Useless(reply=Reply("")), on_exhausted=OnExhausted.ACCEPT)
    job = await down.end("silent")
    assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    assert len(down.requests_by_model["silent"]) == 3  # the plan, and two empty replies
    charged = await down.operations.store.charges(down.ids["silent"])
    assert len(charged) == 3
    await down.judge()


@dataclass(frozen=True)
class Useless(Work):
    """The plan is a true one; all that follows is `reply`, but for the critic, who approves."""

    reply: Reply = EMPTY

    def turn(self, request: Request, number: int) -> Turn:
        """See Work."""
        if request.forced_tool in ("Plan", "Verdict"):
            return super().turn(request, number)
        return self.reply
