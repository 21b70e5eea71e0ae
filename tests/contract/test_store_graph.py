"""The format of a job's checkpoints, on record: written by attempts, given up by a decision."""

from __future__ import annotations

import pytest
from support.jobs.job_examples import TENANT, House, decision, held, job

from jobs.errors import StaleEpoch
from jobs.model.graph_format import ANEW, GraphFormat
from jobs.model.record import JobRecord
from jobs.model.review import Action
from jobs.store import LeaseRef, Writes
from jobs.transitions import upgrade
from jobs.transitions.lifecycle import Refusal

THEIRS = GraphFormat(9, "9.0.0")
OURS = GraphFormat(2, "0.2.0")


async def checkpointed(house: House) -> JobRecord:
    """A running job whose checkpoints bear a format."""
    record = await house.running()
    await house.store.write(record.id, record.epoch, Writes(graph=THEIRS, workspace="d" * 64))
    return await house.record(record.id)


@pytest.mark.invariant("J5")
async def test_a_format_is_written_under_the_epoch(house: House) -> None:
    record = await checkpointed(house)
    assert record.graph == THEIRS
    with pytest.raises(StaleEpoch):
        await house.store.write(record.id, record.epoch - 1, Writes(graph=OURS))
    assert await house.record(record.id) == record


async def test_other_changes_leave_it_alone(house: House) -> None:
    record = await house.running()
    # written after the record was read on which the next change is decided
    await house.store.write(record.id, record.epoch, Writes(graph=THEIRS))
    await house.operations.requeue(held(record), "drained")
    assert (await house.record(record.id)).graph == THEIRS


async def test_a_job_is_parked_and_begun_anew(house: House) -> None:
    record = await checkpointed(house)
    await house.operations.requeue(held(record), "drained")
    refused = await house.operations.claim(record.id, "w", reads=[1, 2])
    assert isinstance(refused, Refusal)
    assert refused.code == "unreadable"
    claimed = await house.claim(record.id, reads=None)
    asked = upgrade.question(claimed, THEIRS, [1, 2], OURS)
    await house.operations.pause(held(claimed), asked)
    await house.operations.decide(record.id, decision(asked.id, Action.APPROVE))
    assert (await house.record(record.id)).graph == ANEW
    assert (await house.kinds(record.id))[-2:] == ["decided", "begun_anew"]
    again = await house.claim(record.id, reads=[1, 2])
    await house.store.write(again.id, again.epoch, Writes(graph=OURS, workspace=""))
    now = await house.record(again.id)
    assert (now.graph, now.workspace) == (OURS, None)


async def test_a_heir_bears_its_parents_format(house: House) -> None:
    record = await checkpointed(house)
    await house.operations.cancel(record.id, "ann")
    heir = job(await house.operations.retry_as_new_job(record.id, by="ann"))
    stored = await house.record(heir.id)
    assert (stored.inherits, stored.graph, stored.tenant) == (record.id, THEIRS, TENANT)
    assert not await house.store.owns(LeaseRef(heir.id, 0))
