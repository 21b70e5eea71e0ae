"""Decisions that come twice, concurrently, too late or for another review: each applies
once (J10).
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Mapping

import httpx
import pytest
from support.processes.fronts import Caller, caller, front
from support.processes.scene import Scene, Work

from jobs.model.events import FINAL_KINDS, Event
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.spec import OnExpiry

WAITS = Status.AWAITING_REVIEW
FEEDBACK = "in other words, please"
ACTIONS = (
    {"action": "approve"},
    {"action": "revise", "feedback": FEEDBACK},
    {"action": "edit", "code": "print('by hand')"},
    {"action": "reject", "feedback": "no"},
    {"action": "delegate"},
)
EFFECTS: Mapping[str, tuple[object, ...]] = {
    "approve": (1, [], 0, "succeeded", "development"),
    "revise": (2, [], 0, "review_opened", None),
    "edit": (2, [("development", "print('by hand')")], 0, "review_opened", None),
    "reject": (1, [], 0, "failed", "rejected"),
    "delegate": (1, [], 1, "succeeded", "critic"),
}
"""The fields that `effects` returns."""


@pytest.fixture
async def callers(scene: Scene) -> AsyncIterator[tuple[Caller, Caller]]:
    """A ready worker, and callers of two API processes."""
    scene.deployment.worker()
    with front(scene.deployment, "a") as first, front(scene.deployment, "b") as second:
        async with (
            caller(first.url, scene.log) as first_client,
            caller(second.url, scene.log) as second_client,
        ):
            await scene.deployment.ready()
            yield first_client, second_client


async def paused(scene: Scene, name: str, **spec: object) -> JobRecord:
    """A job that waits for a person after a run."""
    job_id = await scene.submit(name, Work(), review=True, **spec)
    return await scene.deployment.until(scene.operations, job_id, WAITS)


def review_of(record: JobRecord) -> str:
    assert record.review is not None
    return record.review.id


def statuses(answers: list[httpx.Response | None]) -> Counter[int]:
    assert all(answers), "every caller has an answer"
    return Counter(answer.status_code for answer in answers if answer is not None)


def assert_refused(answer: httpx.Response | None, state: str, kind: str = "no-open-review") -> None:
    """Assert that the answer explains the refusal to people and to programs."""
    assert answer is not None
    problem = answer.json()
    assert (answer.status_code, problem["type"]) == (409, f"/problems/{kind}"), problem
    assert (problem["state"], problem["retryable"]) == (state, False)


async def test_fifty_concurrent_duplicates_are_one_decision(scene: Scene, callers) -> None:
    job = await paused(scene, "twice")
    calls = [
        callers[number % 2].decide(job.id, review_of(job), action="approve") for number in range(50)
    ]
    assert statuses(await asyncio.gather(*calls)) == {202: 1, 409: 49}
    await scene.wait_for_success("twice")
    result = (await scene.deployment.record_of(scene.operations, job.id)).result
    assert result is not None
    assert (result.approved_by, result.override) == ("development", False)
    assert (await scene.event_kinds("twice")).count("decided") == 1
    await scene.judge()


async def test_only_one_of_conflicting_decisions_has_effects(scene: Scene, callers) -> None:
    """Each action is the first request of one race. An action that wins no race is then
    sent alone.
    """
    won = {}
    for number in range(len(ACTIONS)):
        name = f"torn-{number}"
        job = await paused(scene, name, max_revisions=2)
        decisions = [*ACTIONS[number:], *ACTIONS[:number]] * 2
        calls = [
            callers[turn % 2].decide(job.id, review_of(job), **decision)
            for turn, decision in enumerate(decisions)
        ]
        answers = await asyncio.gather(*calls)
        assert statuses(answers) == {202: 1, 409: len(calls) - 1}
        (won[name],) = [
            decision["action"]
            for decision, answer in zip(decisions, answers, strict=True)
            if answer is not None and answer.status_code == 202
        ]
    for decision in ACTIONS:
        if (name := decision["action"]) not in won.values():
            job = await paused(scene, name, max_revisions=2)
            answer = await callers[0].decide(job.id, review_of(job), **decision)
            assert answer is not None
            assert answer.status_code == 202
            won[name] = name
    assert set(won.values()) == set(EFFECTS)
    for name, action in won.items():
        events = await wait_for_next_pause(scene, name)
        assert [event.data["action"] for event in events if event.kind == "decided"] == [action]
        assert effects(events) == EFFECTS[action], (name, action)
        fed_back = any(
            FEEDBACK in str(request.body["messages"]) for request in scene.requests_by_model[name]
        )
        assert fed_back == (action == "revise"), (name, action)
    await scene.judge()


async def test_a_job_keeps_its_role_models_after_a_pause_and_a_crash(
    scene: Scene, callers: tuple[Caller, Caller]
) -> None:
    scene.work["judge"] = Work()
    job = await paused(scene, "kept", role_models={"critic": ("groq:judge",)})
    scene.kill(scene.deployment.workers[0], last=True)
    await scene.replace_worker(critic_model="groq:other")
    answer = await callers[0].decide(job.id, review_of(job), action="delegate")
    assert answer is not None
    assert answer.status_code == 202
    await scene.wait_for_success("kept")
    assert scene.requests_by_model.keys() == {"kept", "judge"}
    assert [request.forced_tool for request in scene.requests_by_model["judge"]] == ["Verdict"]


async def wait_for_next_pause(scene: Scene, name: str) -> list[Event]:
    """Wait for the end or the second review of a job. Returns its events."""
    async with asyncio.timeout(60):
        while True:
            events = await scene.operations.store.events(scene.ids[name])
            kinds = [event.kind for event in events]
            if kinds.count("review_opened") == 2 or FINAL_KINDS & set(kinds):
                return list(events)
            await asyncio.sleep(0.05)


def effects(events: list[Event]) -> tuple[object, ...]:
    """The number of reviews, the runs after the decision, the critic's verdicts, and the end with
    its cause.
    """
    after = events[[event.kind for event in events].index("decided") + 1 :]
    runs = [
        (event.data["by"], event.data["code"]["text"])
        for event in after
        if event.kind == "run_finished"
    ]
    kinds = Counter(event.kind for event in events)
    last = events[-1]
    end = last.data.get("approved_by") or last.data.get("reason")
    return kinds["review_opened"], runs, kinds["critiqued"], last.kind, end


async def test_a_decision_in_the_wrong_state_has_no_effect(scene: Scene, callers) -> None:
    first_client, second_client = callers
    await scene.submit("runs", Work(seconds=3))
    await scene.requests("runs", 1)
    assert_refused(await first_client.decide(scene.ids["runs"], "r", action="approve"), "running")
    waits = await scene.submit("follower", Work(), conversation_id=scene.ids["runs"])
    assert_refused(await first_client.decide(waits, "r", action="approve"), "queued")
    unknown = await second_client.decide("0" * 20, "r", action="approve")
    assert unknown is not None
    assert unknown.status_code == 404
    cancelled = await paused(scene, "cancelled")
    answer = await first_client.cancel(cancelled.id)
    assert answer is not None
    assert answer.status_code == 202
    assert_refused(
        await second_client.decide(cancelled.id, review_of(cancelled), action="approve"),
        "cancelled",
    )
    await scene.wait_for_success("runs", "follower")
    assert_refused(await first_client.decide(scene.ids["runs"], "r", action="approve"), "succeeded")
    for name in ("runs", "follower", "cancelled"):
        assert "decided" not in await scene.event_kinds(name)
    await scene.judge()


async def test_a_decision_on_an_earlier_review_does_not_change_the_open_review(
    scene: Scene, callers
) -> None:
    first_client, second_client = callers
    first = await paused(scene, "asked-again")
    revised = await first_client.decide(
        first.id, review_of(first), action="edit", code="print('mine')"
    )
    assert revised is not None
    assert revised.status_code == 202
    await scene.deployment.wait_for_event(scene.operations, first.id, "review_opened", times=2)
    second = await scene.deployment.until(scene.operations, first.id, WAITS)
    assert review_of(second) != review_of(first)
    late = [second_client.decide(first.id, review_of(first), **decision) for decision in ACTIONS]
    for answer in await asyncio.gather(*late):
        assert_refused(answer, "awaiting_review", "stale-review")
        assert answer is not None
        assert answer.json()["review_id"] == review_of(second)
    stands = await scene.deployment.record_of(scene.operations, first.id)
    assert stands == second
    await second_client.decide(first.id, review_of(second), action="approve")
    await scene.wait_for_success("asked-again")
    await scene.judge()


async def test_after_expiry_the_jobs_own_choice_applies_and_late_decisions_are_refused(
    scene: Scene, callers
) -> None:
    first_client, second_client = callers
    jobs = {
        then: await paused(scene, str(then), review_expires_seconds=3, on_expiry=then)
        for then in OnExpiry
    }
    await scene.wait_for_success("approve")
    approved = await scene.end("approve")
    assert approved.result is not None
    assert (approved.result.approved_by, approved.result.override) == ("expiry", False)
    rejected = await scene.end("reject")
    assert (rejected.status, rejected.reason) == (Status.FAILED, Reason.REJECTED)
    await scene.deployment.wait_for_event(
        scene.operations, jobs[OnExpiry.STAY].id, "review_expired"
    )
    for then, state in ((OnExpiry.APPROVE, "succeeded"), (OnExpiry.REJECT, "failed")):
        assert_refused(
            await first_client.decide(jobs[then].id, review_of(jobs[then]), action="approve"), state
        )
    stays = jobs[OnExpiry.STAY]
    review = (await first_client.client.get(f"/jobs/{stays.id}")).json()["review"]
    assert (review["id"], review["expired"]) == (review_of(stays), True)
    late = await second_client.decide(stays.id, review_of(stays), action="approve")
    assert late is not None
    assert late.status_code == 202
    await scene.wait_for_success("stay")
    for then in OnExpiry:
        kinds = await scene.event_kinds(str(then))
        assert (kinds.count("review_expired"), kinds.count("decided")) == (1, 1)
    await scene.judge()


async def test_an_expiry_without_workers_applies_when_a_worker_starts(scene: Scene) -> None:
    """J9: a review outlives every process. Its time continues without workers, and the next worker
    applies its expiry.
    """
    scene.deployment.worker()
    await scene.deployment.ready()
    job = await paused(scene, "alone", review_expires_seconds=3, on_expiry=OnExpiry.APPROVE)
    scene.deployment.stop_workers(signal.SIGKILL)
    await asyncio.sleep(3.1)
    assert (await scene.deployment.record_of(scene.operations, job.id)).status is WAITS
    scene.deployment.worker()
    await scene.wait_for_success("alone")
    assert (await scene.event_kinds("alone")).count("decided") == 1
    await scene.judge()
