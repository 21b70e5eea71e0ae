"""Reviews that expire, in Redis: found by the sweeper, decided once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from support.jobs.job_examples import VERIFIED, JobService, decision, job, lease_of, review

from jobs.model.record import JobRecord, Reason, Status
from jobs.model.spec import OnExpiry


async def paused(
    service: JobService,
    on_expiry: OnExpiry,
    seconds: int | None = 1,
    *,
    unproven: str | None = None,
) -> JobRecord:
    """A job that waits for a person."""
    record = await service.running(review_expires_seconds=seconds, on_expiry=on_expiry)
    opened = review(unproven=unproven)
    verification = {**VERIFIED, "holds": unproven is None, "problem": unproven}
    opened = replace(opened, payload={**opened.payload, "verification": verification})
    return job(await service.operations.pause(lease_of(record), opened))


async def test_the_sweeper_applies_the_expiry_of_reviews(service):
    waits = await paused(service, OnExpiry.REJECT, seconds=3_600)
    forever = await paused(service, OnExpiry.STAY, seconds=None)
    assert await service.operations.sweep() == 0
    approved = await paused(service, OnExpiry.APPROVE)
    rejected = await paused(service, OnExpiry.REJECT)
    stays = await paused(service, OnExpiry.STAY)
    unproven = await paused(service, OnExpiry.APPROVE, unproven="nothing has run")
    service.hints.clear()
    await asyncio.sleep(1.05)
    assert len(await service.store.overdue(3)) == 3
    assert len(await service.store.overdue(10)) == 4
    assert await service.operations.sweep() == 4
    assert [name for name, _ in service.hints] == [approved.id]
    await service.operations.sweep()  # each expiry is reported once
    for record in (approved, rejected, stays, unproven):
        assert (await service.kinds(record.id)).count("review_expired") == 1
    statuses = {
        name: (await service.record(record.id)).status
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
    assert (await service.record(rejected.id)).reason is Reason.REJECTED
    assert (await service.kinds(stays.id))[-1] == "review_expired"
    assert (await service.kinds(waits.id))[-1] == "review_opened"
    resumed = await service.claim(approved.id)
    assert resumed.decision is not None
    assert (resumed.decision.by, resumed.resumes_pause) == ("expiry", True)
    assert job(await service.operations.decide(stays.id, decision())).status is Status.QUEUED


@pytest.mark.invariant("J10")
async def test_a_decision_and_the_expiry_at_once_have_one_winner(service):
    records = [await paused(service, OnExpiry.REJECT) for _ in range(5)]
    await asyncio.sleep(1.05)
    answers, *_ = await asyncio.gather(
        asyncio.gather(*(service.operations.decide(r.id, decision()) for r in records)),
        service.operations.sweep(),
        service.operations.sweep(),
    )
    for record, answer in zip(records, answers, strict=True):
        after = await service.record(record.id)
        assert after.status is (Status.QUEUED if isinstance(answer, JobRecord) else Status.FAILED)
        assert (await service.kinds(record.id)).count("decided") == 1
