"""The ledger: patient, in order, and never under another attempt's epoch."""

from __future__ import annotations

import asyncio

import pytest
from job_examples import House, held

from agents.ports import Charge, Fact, Finished, Place
from jobs.errors import StaleEpoch, StoreUnavailable
from jobs.memory_store import MemoryStore
from jobs.store import Writes
from worker.ledger import Ledger


class Moody(MemoryStore):
    """A store that is away for the next `away` writes, and slow where `gate` is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.away = 0
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


@pytest.fixture
def store() -> Moody:
    return Moody()


@pytest.fixture
def house(store: Moody) -> House:
    return House(store)


def finished(call: str) -> Finished:
    return Finished(call.encode(), charge=Charge(call, "executor", "groq:small", 10, 5, "0.001"))


def fact(ordinal: int, kind: str) -> Fact:
    return Fact(Place("", "executor", ordinal), kind, {})


async def charged(store: Moody, job_id: str) -> list[str]:
    return sorted(charge.call for charge in await store.charges(job_id))


async def test_a_store_that_is_away_for_a_moment_costs_nothing(store: Moody, house: House) -> None:
    job = await house.running()
    ledger = Ledger(store, held(job), {})
    store.away = 1
    await ledger.record("one", finished("one"))
    assert await store.journal(job.id) == {"one": b"one"}
    assert ledger.tokens == 15


async def test_what_comes_behind_a_lost_write_is_not_written(store: Moody, house: House) -> None:
    job = await house.running()
    ledger = Ledger(store, held(job), {}, patience=0)
    store.away = 1
    await ledger.emit(fact(1, "planned"))
    with pytest.raises(StoreUnavailable):
        await ledger.record("one", finished("one"))
    with pytest.raises(StoreUnavailable):
        await ledger.record("two", finished("two"))
    with pytest.raises(StoreUnavailable):
        await ledger.flush()
    assert await store.journal(job.id) == {}
    assert await house.kinds(job.id) == ["submitted", "started"]
    assert await charged(store, job.id) == ["two"]  # paid is paid, where it can be told


async def test_writes_side_by_side_go_out_in_order_and_together(store: Moody, house: House) -> None:
    job = await house.running()
    ledger = Ledger(store, held(job), {})
    store.gate.clear()
    first = asyncio.create_task(ledger.record("one", finished("one")))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    later = [asyncio.create_task(ledger.record(name, finished(name))) for name in ("two", "three")]
    await asyncio.sleep(0)
    store.gate.set()
    await asyncio.gather(first, *later)
    assert [sorted(writes.journal) for writes in store.written] == [["one"], ["three", "two"]]


async def test_who_stops_waiting_takes_nothing_back(store: Moody, house: House) -> None:
    job = await house.running()
    ledger = Ledger(store, held(job), {})
    store.gate.clear()
    waiting = asyncio.create_task(ledger.record("one", finished("one")))
    await asyncio.sleep(0.01)
    waiting.cancel()
    await asyncio.wait({waiting})
    assert waiting.cancelled()
    store.gate.set()
    await ledger.settled()
    assert await store.journal(job.id) == {"one": b"one"}


async def test_an_old_attempt_writes_nothing_but_what_it_paid(store: Moody, house: House) -> None:
    job = await house.running()
    old = Ledger(store, held(job), {})
    await house.operations.give_back(held(job), "")
    await house.claim(job.id)
    with pytest.raises(StaleEpoch):
        await old.record("one", finished("one"))
    assert await store.journal(job.id) == {}
    assert await charged(store, job.id) == ["one"]
    await old.settled()  # tells nothing more


async def test_what_was_paid_counts_without_a_record_of_the_call(
    store: Moody, house: House
) -> None:
    job = await house.running()
    ledger = Ledger(store, held(job), {})
    charge = finished("one").charge
    assert charge is not None
    await ledger.paid(charge)
    assert await charged(store, job.id) == ["one"]
    assert (await store.journal(job.id), ledger.tokens) == ({}, 15)
