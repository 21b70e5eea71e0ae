"""Decisions that come twice, at once, too late or for another review: each applies once (J10)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest
from faults_house import Scene, Work
from fronts import Caller, caller, front

from jobs.record import JobRecord, Reason, Status
from jobs.spec import OnExpiry

WAITS = Status.AWAITING_REVIEW
FINAL = tuple(status for status in Status if status.final)
ACTIONS = (
    {"action": "approve"},
    {"action": "revise", "feedback": "again"},
    {"action": "edit", "code": "print('by hand')"},
    {"action": "reject", "feedback": "no"},
    {"action": "delegate"},
)


@pytest.fixture
async def callers(scene: Scene) -> AsyncIterator[tuple[Caller, Caller]]:
    """A worker that is ready, and callers of two API processes."""
    scene.house.worker()
    with front(scene.house, "a") as first, front(scene.house, "b") as second:
        async with caller(first.url, scene.log) as one, caller(second.url, scene.log) as two:
            await scene.house.ready()
            yield one, two


async def paused(scene: Scene, name: str, **spec: object) -> JobRecord:
    """A job that waits for a person, after a run."""
    job_id = await scene.submit(name, Work(), review=True, **spec)
    return await scene.house.until(scene.operations, job_id, WAITS)


def review_of(record: JobRecord) -> str:
    assert record.review is not None
    return record.review.id


def statuses(answers: list[httpx.Response | None]) -> Counter[int]:
    assert all(answers), "every caller has an answer"
    return Counter(answer.status_code for answer in answers if answer is not None)


def refused(answer: httpx.Response | None, state: str, kind: str = "no-open-review") -> None:
    """It was told, in words for people and programs, why nothing was done."""
    assert answer is not None
    told = answer.json()
    assert (answer.status_code, told["type"]) == (409, f"/problems/{kind}"), told
    assert (told["state"], told["retryable"]) == (state, False)


async def test_fifty_duplicates_at_once_are_one_decision(scene: Scene, callers) -> None:
    job = await paused(scene, "twice")
    asked = [
        callers[number % 2].decide(job.id, review_of(job), action="approve") for number in range(50)
    ]
    assert statuses(await asyncio.gather(*asked)) == {202: 1, 409: 49}
    await scene.succeeds("twice")
    result = (await scene.house.record_of(scene.operations, job.id)).result
    assert result is not None
    assert (result.approved_by, result.override) == ("development", False)
    assert (await scene.told("twice")).count("decided") == 1
    await scene.judge()


async def test_of_conflicting_decisions_one_wins_and_it_alone_has_effects(
    scene: Scene, callers
) -> None:
    jobs = [await paused(scene, f"torn-{number}", max_revisions=2) for number in range(4)]
    for job in jobs:
        asked = [
            (said, callers[turn % 2].decide(job.id, review_of(job), **said))
            for turn in range(2)
            for said in ACTIONS
        ]
        answers = await asyncio.gather(*(asking for _, asking in asked))
        assert statuses(answers) == {202: 1, 409: len(asked) - 1}
        (won,) = [
            said["action"]
            for (said, _), answer in zip(asked, answers, strict=True)
            if answer is not None and answer.status_code == 202
        ]
        told = await scene.operations.store.events(job.id)
        assert [event.data["action"] for event in told if event.kind == "decided"] == [won]
    for job in jobs:  # one that was sent back asks again
        await scene.house.until(scene.operations, job.id, WAITS, *FINAL)
    await scene.judge()


async def test_a_decision_in_the_wrong_state_does_nothing(scene: Scene, callers) -> None:
    one, two = callers
    await scene.submit("runs", Work(seconds=3))
    await scene.requests("runs", 1)
    refused(await one.decide(scene.ids["runs"], "r", action="approve"), "running")
    waits = await scene.submit("behind", Work(), conversation_id=scene.ids["runs"])
    refused(await one.decide(waits, "r", action="approve"), "queued")
    unknown = await two.decide("0" * 20, "r", action="approve")
    assert unknown is not None
    assert unknown.status_code == 404
    cancelled = await paused(scene, "cancelled")
    answer = await one.cancel(cancelled.id)
    assert answer is not None
    assert answer.status_code == 202
    refused(await two.decide(cancelled.id, review_of(cancelled), action="approve"), "cancelled")
    await scene.succeeds("runs", "behind")
    refused(await one.decide(scene.ids["runs"], "r", action="approve"), "succeeded")
    told = [await scene.told(name) for name in ("runs", "behind", "cancelled")]
    assert all("decided" not in kinds for kinds in told)
    await scene.judge()


async def test_an_answer_to_an_earlier_question_does_not_touch_the_open_one(
    scene: Scene, callers
) -> None:
    one, two = callers
    first = await paused(scene, "asked-again")
    revised = await one.decide(first.id, review_of(first), action="edit", code="print('mine')")
    assert revised is not None
    assert revised.status_code == 202
    await scene.house.told(scene.operations, first.id, "review_opened", times=2)
    second = await scene.house.until(scene.operations, first.id, WAITS)
    assert review_of(second) != review_of(first)
    late = [two.decide(first.id, review_of(first), **said) for said in ACTIONS]
    for answer in await asyncio.gather(*late):
        refused(answer, "awaiting_review", "stale-review")
        assert answer is not None
        assert answer.json()["review_id"] == review_of(second)
    stands = await scene.house.record_of(scene.operations, first.id)
    assert stands == second
    await two.decide(first.id, review_of(second), action="approve")
    await scene.succeeds("asked-again")
    await scene.judge()


async def test_after_expiry_what_the_job_said_counts_and_late_answers_hear_so(
    scene: Scene, callers
) -> None:
    one, two = callers
    jobs = {
        then: await paused(scene, str(then), review_expires_seconds=1, on_expiry=then)
        for then in OnExpiry
    }
    await scene.succeeds("approve")
    approved = await scene.end("approve")
    assert approved.result is not None
    assert (approved.result.approved_by, approved.result.override) == ("expiry", False)
    rejected = await scene.end("reject")
    assert (rejected.status, rejected.reason) == (Status.FAILED, Reason.REJECTED)
    await scene.house.told(scene.operations, jobs[OnExpiry.STAY].id, "review_expired")
    for then, state in ((OnExpiry.APPROVE, "succeeded"), (OnExpiry.REJECT, "failed")):
        refused(await one.decide(jobs[then].id, review_of(jobs[then]), action="approve"), state)
    stays = jobs[OnExpiry.STAY]
    shown = (await one.client.get(f"/jobs/{stays.id}")).json()["review"]
    assert (shown["id"], shown["expired"]) == (review_of(stays), True)
    late = await two.decide(stays.id, review_of(stays), action="approve")
    assert late is not None
    assert late.status_code == 202
    await scene.succeeds("stay")
    for then in OnExpiry:
        told = await scene.told(str(then))
        assert (told.count("review_expired"), told.count("decided")) == (1, 1)
    await scene.judge()


async def test_an_expiry_while_nobody_is_there_is_made_up_for(scene: Scene) -> None:
    """J9: a review outlives every process; its time runs on, and counts when a worker is back."""
    scene.house.worker()
    await scene.house.ready()
    job = await paused(scene, "alone", review_expires_seconds=1, on_expiry=OnExpiry.APPROVE)
    scene.house.stop_workers()
    await asyncio.sleep(1.2)
    assert (await scene.house.record_of(scene.operations, job.id)).status is WAITS
    scene.house.worker()
    await scene.succeeds("alone")
    assert (await scene.told("alone")).count("decided") == 1
    await scene.judge()
