"""The format of a job's checkpoints on record: attempts write it, and a decision may remove it."""

from __future__ import annotations

import pytest
from support.jobs.job_examples import TENANT, JobService, decision, job, lease_of

from jobs.errors import StaleEpoch
from jobs.model.record import RESTART, Cause, GraphFormat, JobRecord
from jobs.model.review import Action
from jobs.store import LeaseRef, Writes
from jobs.transitions import upgrade
from jobs.transitions.lifecycle import Refusal

THEIRS = GraphFormat(9, "9.0.0")
OURS = GraphFormat(2, "0.2.0")


async def checkpointed(service: JobService) -> JobRecord:
    """A running job with checkpoints of the format THEIRS."""
    record = await service.running()
    await service.store.write(record.id, record.epoch, Writes(graph=THEIRS, workspace="d" * 64))
    return await service.record(record.id)


@pytest.mark.invariant("J5")
async def test_a_format_is_written_under_the_epoch(service: JobService) -> None:
    record = await checkpointed(service)
    assert record.graph == THEIRS
    with pytest.raises(StaleEpoch):
        await service.store.write(record.id, record.epoch - 1, Writes(graph=OURS))
    assert await service.record(record.id) == record


async def test_a_job_is_parked_and_restarted(service: JobService) -> None:
    record = await checkpointed(service)
    await service.operations.requeue(lease_of(record), "drained", Cause.STOPPING)
    refused = await service.operations.claim(record.id, "w", readable=[1, 2])
    assert isinstance(refused, Refusal)
    assert refused.code == "unreadable"
    claimed = await service.claim(record.id, readable=None)
    upgrade_review = upgrade.upgrade_review(claimed, THEIRS, [1, 2], OURS)
    await service.operations.pause(lease_of(claimed), upgrade_review)
    await service.operations.decide(record.id, decision(upgrade_review.id, Action.APPROVE))
    assert (await service.record(record.id)).graph == RESTART
    assert (await service.kinds(record.id))[-2:] == ["decided", "begun_anew"]
    again = await service.claim(record.id, readable=[1, 2])
    await service.store.write(again.id, again.epoch, Writes(graph=OURS, workspace=""))
    now = await service.record(again.id)
    assert (now.graph, now.workspace) == (OURS, None)


async def test_a_retry_has_its_parents_format(service: JobService) -> None:
    record = await checkpointed(service)
    await service.operations.cancel(record.id, "ann")
    retry_job = job(await service.operations.retry_as_new_job(record.id, by="ann"))
    stored = await service.record(retry_job.id)
    assert (stored.inherits, stored.graph, stored.tenant) == (record.id, THEIRS, TENANT)
    assert not await service.store.owns(LeaseRef(retry_job.id, 0))
