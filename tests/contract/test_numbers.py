"""Numbers over each form of the Store: kept in the same step as what they count."""

from __future__ import annotations

import asyncio

from job_examples import RESULT, TENANT, decision, held, job, review

from jobs.events import NewEvent
from jobs.lifecycle import Refusal
from jobs.numbers import day_of
from jobs.record import JobRecord
from jobs.store import Charge, Writes


async def today(house):
    day = day_of(await house.store.now())
    (counts,) = await house.store.numbers.days(TENANT, [day])
    return counts


async def test_a_job_counts_once_as_it_ends(house):
    record = await house.running()
    run = {"number": 1, "succeeded": True, "seconds": 0.5, "revision": 2}
    writes = Writes(
        events=[NewEvent("run", "run_finished", run)],
        charges=[Charge("a", "critic", "groq:m", 3, 4, "0.000001")],
    )
    await house.store.write(record.id, record.epoch, writes)
    assert await today(house) == {}
    ends = [house.operations.succeed(held(record), RESULT, "did it") for _ in range(4)]
    ends += [house.operations.cancel(record.id, "ann") for _ in range(4)]
    answers = await asyncio.gather(*ends)
    assert sum(isinstance(answer, JobRecord) for answer in answers) == 1
    counts = await today(house)
    assert sum(count for name, count in counts.items() if name.startswith("ended|")) == 1
    assert (counts["cost|groq:m"], counts["runs|succeeded"]) == (1_000_000, 1)
    assert (await house.record(record.id)).revisions == 2


async def test_decisions_count_with_the_time_they_took(house):
    record = await house.running()
    job(await house.operations.pause(held(record), review()))
    answers = await asyncio.gather(
        *(house.operations.decide(record.id, decision()) for _ in range(4))
    )
    assert sum(isinstance(answer, Refusal) for answer in answers) == 3
    counts = await today(house)
    assert (counts["decided|approve"], counts["wait_ms"] >= 0) == (1, True)


async def test_a_day_is_its_tenants_own_and_others_are_empty(house):
    job(await house.operations.cancel((await house.submit()).id, "ann"))
    day = day_of(await house.store.now())
    assert await house.store.numbers.days("other", [day]) == [{}]
    found = await house.store.numbers.days(TENANT, ["2001-01-01", day])
    assert (found[0], found[1]["ended|cancelled"]) == ({}, 1)


async def test_what_is_paid_behind_the_end_counts_once_too(house):
    record = await house.running()
    job(await house.operations.cancel(record.id, "ann"))
    late = Charge("late", "critic", "groq:m", 3, 4, "0.5")
    for _ in range(3):
        await house.store.charge(record.id, [late])
    counts = await today(house)
    assert (counts["cost|groq:m"], counts["calls|groq:m"]) == (500_000_000_000, 1)
    assert [charge.call for charge in await house.store.charges(record.id)] == ["late"]
