"""Failing models: bounded retries, then `model_unavailable`, and never a success without code."""

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
"""The number of tries of a call: the first try, and three tries after a rest."""
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
"""Transient errors, after which the worker rests and repeats the call."""


def repeat_from(number: int, turn: Turn) -> Mapping[int, Turn]:
    """Return the same error from the request with this number on."""
    return dict.fromkeys(range(number, MOST), turn)


@pytest.fixture
async def impatient(scene: Scene) -> Scene:
    """A worker that waits one second for a model, and retries a job three times."""
    scene.deployment.worker(model_timeout_seconds="1", retry_seconds="0.1", retries="3")
    await scene.deployment.ready()
    return scene


async def test_if_a_model_never_answers_the_job_fails_after_bounded_tries(impatient: Scene) -> None:
    """The job fails after four attempts without a run, and its detail names the error. A call is
    charged, with unknown usage, only if its reply had begun."""
    for fault, turn in TROUBLE.items():
        await impatient.submit(fault, Work(instead=repeat_from(1, turn)))
    for fault in TROUBLE:
        job = await impatient.end(fault)
        assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE), fault
        assert job.detail, fault
        assert job.result is None or not job.result.answer, fault
        kinds = await impatient.event_kinds(fault)
        assert not {"model_called", "run_finished", "critiqued"} & set(kinds), fault
        assert (kinds.count("given_back"), len(impatient.requests_by_model[fault])) == (
            TRIES - 1,
            TRIES,
        ), fault
        lost = TRIES if fault == "cut-within" else 0
        assert await charged(impatient, fault) == (0, lost), fault
    await impatient.judge()


async def test_if_a_model_answers_again_the_job_succeeds_and_pays_each_reply_once(
    impatient: Scene,
) -> None:
    """Each kind of error occurs twice; then the job succeeds. No answer is paid for twice."""
    for fault, turn in TROUBLE.items():
        await impatient.submit(fault, Work(instead={1: turn, 2: turn, 5: turn}))
    await impatient.wait_for_success(*TROUBLE)
    for fault in TROUBLE:
        kinds = await impatient.event_kinds(fault)
        calls = impatient.work[fault].calls
        lost = 3 if fault == "cut-within" else 0
        assert await charged(impatient, fault) == (calls, lost), fault
        assert (kinds.count("model_called"), kinds.count("run_finished")) == (calls, 1), fault
        assert (len(impatient.requests_by_model[fault]), kinds.count("given_back")) == (
            calls + 3,
            3,
        ), fault
    await impatient.judge()


async def charged(scene: Scene, name: str) -> tuple[int, int]:
    """The number of charges with usage, and of charges without usage."""
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
async def test_a_model_without_useful_replies_ends_the_job_unapproved(
    impatient: Scene, reply: Reply
) -> None:
    """The calls are bounded and charged. The critic approves, but the job has run no code, so it is
    not approved. It ends with its last answer, or as `unapproved`, as the request says.
    """
    await impatient.submit(
        "taken", Useless(reply=reply), max_revisions=1, on_exhausted=OnExhausted.ACCEPT
    )
    await impatient.submit("strict", Useless(reply=reply), max_revisions=1)
    for name, expected_end in (
        ("taken", (Status.SUCCEEDED, None)),
        ("strict", (Status.FAILED, Reason.UNAPPROVED)),
    ):
        job = await impatient.end(name)
        kinds = await impatient.event_kinds(name)
        assert (job.status, job.reason) == expected_end, kinds
        assert job.result is not None
        assert job.result.approved_by is None
        assert IN_CIRCLES in job.result.answer
        assert len(impatient.requests_by_model[name]) < MOST - 1
        charged = await impatient.operations.store.charges(impatient.ids[name])
        assert len(charged) == kinds.count("model_called")
    await impatient.judge()


async def test_a_model_with_empty_replies_is_asked_twice(impatient: Scene) -> None:
    """An empty reply is no answer (ADR 76). Each of the calls is charged."""
    await impatient.submit("silent", Useless(reply=Reply("")), on_exhausted=OnExhausted.ACCEPT)
    job = await impatient.end("silent")
    assert (job.status, job.reason) == (Status.FAILED, Reason.MODEL_UNAVAILABLE)
    assert len(impatient.requests_by_model["silent"]) == 3  # the plan, and two empty replies
    charged = await impatient.operations.store.charges(impatient.ids["silent"])
    assert len(charged) == 3
    await impatient.judge()


@dataclass(frozen=True)
class Useless(Work):
    """A useful plan, then only `reply` in each turn of the executor; the critic approves."""

    reply: Reply = EMPTY

    def turn(self, request: Request, number: int) -> Turn:
        """See `Work.turn`."""
        if request.forced_tool in ("Plan", "Verdict"):
            return super().turn(request, number)
        return self.reply
