"""The sweeper goes on, whatever one job's record does to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import pytest
from job_examples import NOW, House, held

from jobs.errors import StoreUnavailable
from jobs.memory_store import MemoryStore
from jobs.store import Held, Loaded
from jobs.turns import MemoryTurns
from worker.sweeper import sweep_forever


class Damaged(MemoryStore):
    """A store in which one record cannot be read."""

    unreadable = ""

    async def load(self, job_id: str) -> Loaded | None:
        if job_id == self.unreadable:
            raise ValueError("not a record")
        return await super().load(job_id)


async def test_a_record_that_cannot_be_read_hinders_no_other_job() -> None:
    now = [NOW]
    store = Damaged(lambda: now[0])
    house = House(store)
    bad, good = [(await house.submit()).id for _ in range(2)]
    house.hints.clear()
    store.unreadable = bad
    now[0] += 10_000
    with pytest.raises(ValueError, match="not a record"):
        await house.operations.sweep()
    assert [job_id for job_id, _ in house.hints] == [good]
    sweeping = asyncio.create_task(sweep_forever(house.operations, 0.001))
    for _ in range(3):
        now[0] += 100_000
        await asyncio.sleep(0.02)
    sweeping.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await sweeping
    assert len(house.hints) > 2


async def test_one_sweeper_of_the_fleet_has_its_turn_in_each_interval() -> None:
    now = [NOW]
    store = MemoryStore(lambda: now[0])
    house, looked = House(store), []

    async def sweep() -> int:
        looked.append(now[0])
        return 0

    house.operations.sweep = sweep
    fleet = [asyncio.create_task(sweep_forever(house.operations, 0.01)) for _ in range(5)]
    await asyncio.sleep(0.05)
    assert looked == [NOW]
    now[0] += 9
    await asyncio.sleep(0.05)
    assert looked == [NOW, NOW + 9]
    for sweeping in fleet:
        sweeping.cancel()
    await asyncio.gather(*fleet, return_exceptions=True)


class Away(MemoryStore):
    """A store that can be out of reach, or answer without taking writes."""

    reached = True
    answers = False

    def __init__(self, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self.turns = AwayTurns(self, clock)

    async def now(self) -> int:
        if not self.reached and not self.answers:
            raise StoreUnavailable("away")
        return await super().now()

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        if not self.reached:
            raise StoreUnavailable("no writes")
        return await super().renew(held, lease_ms)


class AwayTurns(MemoryTurns):
    """Its turns."""

    def __init__(self, store: Away, clock: Callable[[], int]) -> None:
        super().__init__(clock)
        self._store = store

    async def mine(self, name: str, ms: int) -> bool:
        if not self._store.reached:
            raise StoreUnavailable("no writes")
        return await super().mine(name, ms)


@pytest.mark.invariant("J7")
@pytest.mark.parametrize("answers", [False, True], ids=["away", "takes no writes"])
async def test_leases_are_looked_at_only_some_time_after_the_store_is_back(answers: bool) -> None:
    """However long it was away, and whenever within the sweeper's pauses it comes back."""
    now = [NOW]
    store = Away(lambda: now[0])
    store.answers = answers
    house = House(store)
    alive, dead = await house.running(), await house.running()
    store.reached = False
    sweeping = asyncio.create_task(sweep_forever(house.operations, 0.01, grace=0.5))
    await asyncio.sleep(0.4)
    now[0] += 100_000  # every lease has run out
    store.reached = True
    await asyncio.sleep(0.2)
    assert await store.renew([held(alive)], 15_000) == []
    async with asyncio.timeout(20):
        while (await house.record(dead.id)).crashes == 0:
            now[0] += 10
            await asyncio.sleep(0.01)
    sweeping.cancel()
    assert (await house.record(alive.id)).crashes == 0
