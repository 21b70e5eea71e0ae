"""The ledger retries its writes, keeps their order, and never writes under another
attempt's epoch.
"""

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


class FlakyStore(RedisStore):
    """The next `failing_writes` writes raise StoreUnavailable, each write waits for `gate`, and a
    separate charge fails if `refuses_charges`.
    """

    def __init__(self, redis: Redis) -> None:
        super().__init__(redis)
        self.failing_writes = 0
        self.refuses_charges = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.written: list[Writes] = []

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        await self.gate.wait()
        if self.failing_writes:
            self.failing_writes -= 1
            raise StoreUnavailable("away")
        await super().write(job_id, epoch, writes)
        self.written.append(writes)

    async def charge(self, job_id: str, charges: Sequence[Payment]) -> None:
        if self.refuses_charges:
            raise StoreUnavailable("away")
        await super().charge(job_id, charges)


@pytest.fixture
async def store(redis_url: str) -> AsyncIterator[FlakyStore]:
    flaky_store = FlakyStore(connect(redis_url, seconds=20))
    yield flaky_store
    await flaky_store.close()


@pytest.fixture
def service(store: FlakyStore) -> JobService:
    return JobService(store)


def finished(call: str) -> Finished:
    return Finished(call.encode(), charge=Charge(call, "executor", "groq:small", 10, 5, "0.001"))


def fact(ordinal: int, kind: str) -> Event:
    return Event(CallKey("", "executor", ordinal), kind, {})


async def charged(store: FlakyStore, job_id: str) -> list[str]:
    return sorted(charge.call for charge in await store.charges(job_id))


def new_ledger(store: FlakyStore, job: JobRecord, *, patience: float = 30) -> Ledger:
    return Ledger(AttemptWriter(store, lease_of(job), Patience(patience)), {})


async def test_a_short_outage_of_the_store_loses_no_write(
    store: FlakyStore, service: JobService
) -> None:
    job = await service.running()
    ledger = new_ledger(store, job)
    store.failing_writes = 1
    await ledger.record("one", finished("one"))
    assert await store.journal(job.id) == {"one": b"one"}
    assert ledger.tokens == 15


async def test_writes_after_a_lost_write_are_not_made(
    store: FlakyStore, service: JobService
) -> None:
    job = await service.running()
    ledger = new_ledger(store, job, patience=0)
    store.failing_writes = 1
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


async def ledger_with_unsent_writes(store: FlakyStore, job: JobRecord) -> Ledger:
    """A ledger that could not write two calls, and a payment without a call."""
    ledger = new_ledger(store, job, patience=0)
    store.failing_writes = 1
    for call in ("one", "two"):
        with pytest.raises(StoreUnavailable):
            await ledger.record(call, finished(call))
    store.refuses_charges = True
    charge = finished("failed").charge
    assert charge is not None
    await ledger.paid(charge)
    store.refuses_charges = False
    return ledger


async def test_unsent_writes_are_made_in_order_as_soon_as_the_store_is_available(
    store: FlakyStore, service: JobService
) -> None:
    job = await service.running()
    ledger = await ledger_with_unsent_writes(store, job)
    await ledger.writer.flush_unsent()
    assert await store.journal(job.id) == {"one": b"one", "two": b"two"}
    assert [sorted(writes.journal) for writes in store.written] == [["one"], ["two"]]
    assert await charged(store, job.id) == ["failed", "one", "two"]
    store.refuses_charges = True
    await ledger.writer.flush_unsent()  # no unsent writes remain


async def test_concurrent_writes_are_sent_together_and_in_order(
    store: FlakyStore, service: JobService
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


async def test_an_old_attempt_writes_only_its_charges(
    store: FlakyStore, service: JobService
) -> None:
    job = await service.running()
    old = new_ledger(store, job)
    await service.operations.requeue(lease_of(job), "", Cause.STOPPING)
    await service.claim(job.id)
    with pytest.raises(StaleEpoch):
        await old.record("one", finished("one"))
    assert await store.journal(job.id) == {}
    assert await charged(store, job.id) == ["one"]
    await old.writer.settle(5)  # this attempt emits no further events
