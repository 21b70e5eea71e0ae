"""Reviews that expire, in Redis: found by the sweeper, decided once."""

from __future__ import annotations

import asyncio

import pytest
from support.jobs.job_examples import House, decision, held, job, review

from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Reason, Status
from jobs.model.review import Action
from jobs.model.spec import OnExpiry
from jobs.store import Writes
from jobs.transitions.lifecycle import Refusal


async def paused(
    house: House, on_expiry: OnExpiry, seconds: int | None = 1, *, run: bool = True
) -> JobRecord:
    """A job that waits for a person, with a run that has succeeded."""
    record = await house.running(review_expires_seconds=seconds, on_expiry=on_expiry)
    fact = NewEvent("run", "run_finished", {"number": 1, "succeeded": run})
    await house.store.write(record.id, record.epoch, Writes(events=[fact]))
    return job(await house.operations.pause(held(record), review()))


async def test_the_sweeper_lets_reviews_expire_as_their_specs_say(house):
    waits = await paused(house, OnExpiry.REJECT, seconds=3_600)
    forever = await paused(house, OnExpiry.STAY, seconds=None)
    assert await house.operations.sweep() == 0
    approved = await paused(house, OnExpiry.APPROVE)
    rejected = await paused(house, OnExpiry.REJECT)
    stays = await paused(house, OnExpiry.STAY)
    unproven = await paused(house, OnExpiry.APPROVE, run=False)
    house.hints.clear()
    await asyncio.sleep(1.05)
    assert len(await house.store.overdue(3)) == 3
    assert len(await house.store.overdue(10)) == 4
    assert await house.operations.sweep() == 4
    assert [name for name, _ in house.hints] == [approved.id]
    await house.operations.sweep()  # each is told once
    for record in (approved, rejected, stays, unproven):
        assert (await house.kinds(record.id)).count("review_expired") == 1
    statuses = {
        name: (await house.record(record.id)).status
        for name, record in {
            "approved": approved,
            "rejected": rejected,
            "stays": stays,
            "unproven": unproven,
            "waits": waits,
            "forever": forever,
        }.items()
    }
    open_still = dict.fromkeys(("stays", "unproven", "waits", "forever"), Status.AWAITING_REVIEW)
    assert statuses == {"approved": Status.QUEUED, "rejected": Status.FAILED, **open_still}
    assert (await house.record(rejected.id)).reason is Reason.REJECTED
    assert (await house.kinds(stays.id))[-1] == "review_expired"
    assert (await house.kinds(waits.id))[-1] == "review_opened"
    resumed = await house.claim(approved.id)
    assert resumed.decision is not None
    assert (resumed.decision.by, resumed.resumes_pause) == ("expiry", True)
    assert job(await house.operations.decide(stays.id, decision())).status is Status.QUEUED


@pytest.mark.invariant("J10")
async def test_a_decision_and_the_expiry_at_once_have_one_winner(house):
    records = [await paused(house, OnExpiry.REJECT) for _ in range(5)]
    await asyncio.sleep(1.05)
    answers, *_ = await asyncio.gather(
        asyncio.gather(*(house.operations.decide(r.id, decision()) for r in records)),
        house.operations.sweep(),
        house.operations.sweep(),
    )
    for record, answer in zip(records, answers, strict=True):
        after = await house.record(record.id)
        assert after.status is (Status.QUEUED if isinstance(answer, JobRecord) else Status.FAILED)
        assert (await house.kinds(record.id)).count("decided") == 1


async def test_a_second_review_has_a_time_of_its_own_and_old_decisions_do_not_touch_it(house):
    first = await paused(house, OnExpiry.REJECT, seconds=3_600)
    job(await house.operations.decide(first.id, decision(action=Action.REVISE, feedback="more")))
    running = await house.claim(first.id)
    second = job(await house.operations.pause(held(running), review("r2")))
    assert second.review is not None
    assert second.review.expires_at == second.updated_at + 3_600_000
    stale = await house.operations.decide(first.id, decision("r1"))
    assert isinstance(stale, Refusal)
    assert stale.code == "stale_review"
