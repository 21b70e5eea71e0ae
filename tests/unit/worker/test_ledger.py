"""The ledger: patient, in order, and never under another attempt's epoch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from redis.asyncio import Redis
from support.jobs.job_examples import JobService, lease_of

from agents.ports import CallKey, Charge, Event, Finished
from jobs.errors import StaleEpoch, StoreUnavailable
from jobs.model.record import Cause, JobRecord
from jobs.store import Charge as Payment
from jobs.store import Writes
from jobs.store.redis_store import RedisStore, connect
from worker.ledger import AttemptWriter, Ledger
from worker.store import Patience


class Moody(RedisStore):
    """A store that is away for the next `away` writes, slow where `gate` is closed, and takes no
    charge by itself where it is `mute`."""

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.away = 0
        self.mute = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.written: list[Writes] = []

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        await self.gate.wait()
        if self.away:
            self.away -= 1
            raise StoreUnavailable("away")
        await super().write(job_id, epoch, writes)
        self.written.append(writes)

    async def charge(self, job_id: str, charges: Sequence[Payment]) -> None:
        if self.mute:
            raise StoreUnavailable("away")
        await super().charge(job_id, charges)


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[Moody]:
    moody = Moody(connect(redis_url, seconds=20))
    yield moody
    await moody.close()


@pytest.fixture
def service(store: Moody) -> JobService:
    return JobService(store)


def finished(call: str) -> Finished:
    return Finished(call.encode(), charge=Charge(call, "executor", "groq:small", 10, 5, "0.001"))


def fact(ordinal: int, kind: str) -> Event:
    return Event(CallKey("", "executor", ordinal), kind, {})


async def charged(store: Moody, job_id: str) -> list[str]:
    return sorted(charge.call for charge in await store.charges(job_id))


def new_ledger(store: Moody, job: JobRecord, *, patience: float = 30) -> Ledger:
    return Ledger(AttemptWriter(store, lease_of(job), Patience(patience)), {})


async def test_a_store_that_is_away_for_a_moment_costs_nothing(
    store: Moody, service: JobService
) -> None:
    job = await service.running()
    ledger = new_ledger(store, job)
    store.away = 1
    await ledger.record("one", finished("one"))
    assert await store.journal(job.id) == {"one": b"one"}
    assert ledger.tokens == 15


async def test_what_comes_after_a_lost_write_is_not_written(
    store: Moody, service: JobService
) -> None:
    job = await service.running()
    ledger = new_ledger(store, job, patience=0)
    store.away = 1
    await ledger.emit(fact(1, "planned"))
    with pytest.raises(StoreUnavailable):
        await ledger.record("one", finished("one"))
    with pytest.raises(StoreUnavailable):
        await ledger.record("two", finished("two"))
    with pytest.raises(StoreUnavailable):
        await ledger.writer.send()
    assert await store.journal(job.id) == {}
    assert await service.kinds(job.id) == ["submitted", "started"]
    assert await charged(store, job.id) == []


async def given_up(store: Moody, job: JobRecord) -> Ledger:
    """A ledger that could not say two calls, and one payment without a call."""
    ledger = new_ledger(store, job, patience=0)
    store.away = 1
    for call in ("one", "two"):
        with pytest.raises(StoreUnavailable):
            await ledger.record(call, finished(call))
    store.mute = True
    charge = finished("failed").charge
    assert charge is not None
    await ledger.paid(charge)
    store.mute = False
    return ledger


async def test_what_was_given_up_is_said_in_its_order_when_the_store_is_back(
    store: Moody, service: JobService
) -> None:
    job = await service.running()
    ledger = await given_up(store, job)
    await ledger.writer.flush_unsent()
    assert await store.journal(job.id) == {"one": b"one", "two": b"two"}
    assert [sorted(writes.journal) for writes in store.written] == [["one"], ["two"]]
    assert await charged(store, job.id) == ["failed", "one", "two"]
    store.mute = True
    await ledger.writer.flush_unsent()  # there are no more


async def test_writes_side_by_side_go_out_in_order_and_together(
    store: Moody, service: JobService
) -> None:
    job = await service.running()
    ledger = new_ledger(store, job)
    store.gate.clear()
    first = asyncio.create_task(ledger.record("one", finished("one")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later_writes = [
        asyncio.create_task(ledger.record(name, finished(name))) for name in ("two", "three")
    ]
    await asyncio.sleep(0)
    store.gate.set()
    await asyncio.gather(first, *later_writes)
    assert [sorted(writes.journal) for writes in store.written] == [["one"], ["three", "two"]]


async def test_an_old_attempt_writes_nothing_but_what_it_paid(
    store: Moody, service: JobService
) -> None:
    job = await service.running()
    old = new_ledger(store, job)
    await service.operations.requeue(lease_of(job), "", Cause.STOPPING)
    await service.claim(job.id)
    with pytest.raises(StaleEpoch):
        await old.record("one", finished("one"))
    assert await store.journal(job.id) == {}
    assert await charged(store, job.id) == ["one"]
    await old.writer.settle(5)  # tells nothing more
