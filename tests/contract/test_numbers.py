"""Counters are updated in the same transaction as the items that they count."""

from __future__ import annotations

import asyncio

import pytest
from support.jobs.job_examples import RESULT, TENANT, decision, job, lease_of, review

from jobs.counting import day_of
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord
from jobs.store import Charge, Writes
from jobs.transitions.lifecycle import Refusal

pytestmark = pytest.mark.usefixtures("one_day")


async def today(service):
    day = day_of(await service.store.now())
    (counts,) = await service.store.day_counts.days(TENANT, [day])
    return counts


async def test_a_job_counts_once_by_its_outcome(service):
    record = await service.running()
    run = {"number": 1, "succeeded": True, "seconds": 0.5, "revision": 2}
    writes = Writes(
        events=[NewEvent("run", "run_finished", run)],
        charges=[Charge("a", "critic", "groq:m", 3, 4, "0.000001")],
    )
    await service.store.write(record.id, record.epoch, writes)
    assert await today(service) == {}
    ends = [service.operations.succeed(lease_of(record), RESULT, "did it") for _ in range(4)]
    ends += [service.operations.cancel(record.id, "ann") for _ in range(4)]
    answers = await asyncio.gather(*ends)
    assert sum(isinstance(answer, JobRecord) for answer in answers) == 1
    counts = await today(service)
    assert sum(count for name, count in counts.items() if name.startswith("ended|")) == 1
    assert (counts["cost|groq:m"], counts["runs|succeeded"]) == (1_000_000, 1)
    assert (await service.record(record.id)).revisions == 2


async def test_decisions_count_with_their_waiting_time(service):
    record = await service.running()
    job(await service.operations.pause(lease_of(record), review()))
    answers = await asyncio.gather(
        *(service.operations.decide(record.id, decision()) for _ in range(4))
    )
    assert sum(isinstance(answer, Refusal) for answer in answers) == 3
    counts = await today(service)
    assert (counts["decided|approve"], counts["wait_ms"] >= 0) == (1, True)


async def test_the_counts_of_a_day_belong_to_one_tenant(service):
    job(await service.operations.cancel((await service.submit()).id, "ann"))
    day = day_of(await service.store.now())
    assert await service.store.day_counts.days("other", [day]) == [{}]
    counts = await service.store.day_counts.days(TENANT, ["2001-01-01", day])
    assert (counts[0], counts[1]["ended|cancelled"]) == ({}, 1)


async def test_a_charge_after_the_end_counts_once_too(service):
    record = await service.running()
    job(await service.operations.cancel(record.id, "ann"))
    late = Charge("late", "critic", "groq:m", 3, 4, "0.5")
    for _ in range(3):
        await service.store.charge(record.id, [late])
    counts = await today(service)
    assert (counts["cost|groq:m"], counts["calls|groq:m"]) == (500_000_000_000, 1)
    assert [charge.call for charge in await service.store.charges(record.id)] == ["late"]


async def test_charges_at_the_moment_of_the_end_count_once(service):
    for number in range(8):
        record = await service.running()
        late = [Charge(f"{number}-{n}", "critic", "groq:m", 1, 1, "0.5") for n in range(4)]
        await asyncio.gather(
            *(service.store.charge(record.id, [charge]) for charge in late[:2]),
            service.operations.cancel(record.id, "ann"),
            *(service.store.charge(record.id, [charge]) for charge in late[2:]),
        )
    assert (await today(service))["calls|groq:m"] == 32
