"""Operations as time goes by: hints, leases, crashes, tries."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from support.jobs.job_examples import JobService, held, job, review

from jobs.errors import StaleEpoch
from jobs.model.events import NewEvent
from jobs.model.record import Reason, Status
from jobs.model.spec import Priority
from jobs.store import Loaded, Writes
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Policy, Refusal


class FrozenStore(RedisStore):
    """A store whose time is `at` (ms) until a test moves it on: ahead of its server's, by whose
    time a next job of a conversation is due.
    """

    at = 0

    async def now(self) -> int:
        return self.at

    async def load(self, job_id: str) -> Loaded | None:
        loaded = await super().load(job_id)
        return loaded and replace(loaded, now=self.at)


@pytest.fixture
async def clock(redis_url):
    store = FrozenStore(connect(redis_url, seconds=20))
    store.at = int(time.time() * 1000) + 3_600_000
    yield store
    await store.close()


@pytest.fixture
def service(clock):
    return JobService(clock)


async def sweep(service) -> list[str]:
    service.hints.clear()
    await service.operations.sweep()
    return [job_id for job_id, _ in service.hints]


async def test_a_lost_hint_is_made_up_for_and_reminders_get_rarer(service, clock):
    record = await service.submit()
    begun, hinted = clock.at, []
    for _ in range(120):
        clock.at += 1_000
        hinted += [clock.at - begun for _ in await sweep(service)]
    assert hinted == [1_000, 3_000, 7_000, 15_000, 31_000, 63_000]
    await service.claim(record.id)


@pytest.mark.invariant("J8")
async def test_a_dead_workers_job_is_hinted_within_one_sweep_of_its_leases_end(service, clock):
    running = await service.running(priority=Priority.HIGH)
    clock.at = running.lease.until - 1
    assert await sweep(service) == []
    clock.at += 1
    assert await sweep(service) == [running.id]
    assert service.hints == [(running.id, Priority.HIGH)]
    again = await service.claim(running.id)
    assert (again.epoch, again.crashes) == (2, 1)
    with pytest.raises(StaleEpoch):
        await service.store.write(running.id, 1, Writes(journal={"a": b""}))


async def test_a_job_that_kills_its_workers_ends_as_poison_alone(service, clock):
    record = await service.submit()
    for _ in range(2):
        running = await service.claim(record.id)
        clock.at = running.lease.until
        assert await sweep(service) == [record.id]
    refused = await service.operations.claim(record.id, "w")
    assert isinstance(refused, Refusal)
    assert refused.code == "alone"
    running = await service.claim(record.id, alone=True)
    clock.at = running.lease.until
    await sweep(service)
    ended = await service.record(record.id)
    assert (ended.status, ended.reason) == (Status.FAILED, Reason.POISONED)
    assert (await service.kinds(record.id))[-2:] == ["lease_lost", "failed"]
    assert ended.detail.endswith(", before its first call had finished")


async def test_a_poisoned_job_says_how_far_it_came(service, clock):
    record = await service.submit()
    for alone in (False, False, True):
        running = await service.claim(record.id, alone=alone)
        if not alone:
            called = NewEvent("asked", "model_called", {"call": "c", "role": "executor"})
            await service.store.write(running.id, running.epoch, Writes((called,), progress=False))
        clock.at = running.lease.until
        await sweep(service)
    ended = await service.record(record.id)
    place = "attempt 3 killed its own process, worker-1, after event 3, model_called (executor)"
    assert (ended.reason, ended.detail) == (Reason.POISONED, place)


async def test_the_end_of_a_poisoned_job_hints_the_next_in_its_line(service, clock):
    record = await service.submit(conversation_id="c")
    second = await service.submit(conversation_id="c")
    for alone in (False, False, True):
        running = await service.claim(record.id, alone=alone)
        clock.at = running.lease.until
        hinted = await sweep(service)
    assert hinted[-1] == second.id
    await service.claim(second.id)


async def test_a_try_again_is_hinted_when_its_delay_is_over(service, clock):
    running = await service.running()
    job(await service.operations.retry(held(running), Reason.SANDBOX_UNAVAILABLE, "gone"))
    clock.at += Policy().retry_ms - 1
    assert await sweep(service) == []
    clock.at += 1
    assert await sweep(service) == [running.id]
    assert (await service.claim(running.id)).retries == 1


async def test_a_job_that_waits_in_line_is_not_hinted(service, clock):
    first = await service.running(conversation_id="c")
    second = await service.submit(conversation_id="c")
    job(await service.operations.pause(held(first), review()))
    for _ in range(200):
        clock.at += 1_000
        assert await sweep(service) == []
    job(await service.operations.cancel(first.id, "ann"))
    assert await sweep(service) == [second.id]


async def test_one_sweep_looks_at_all_that_is_due(service, clock):
    records = [await service.submit() for _ in range(100)]
    clock.at += lifecycle.FIRST_HINT_MS
    service.hints.clear()
    assert await service.operations.sweep(together=7) == 100
    assert sorted(name for name, _ in service.hints) == sorted(record.id for record in records)
    assert await service.operations.sweep() == 0


@pytest.mark.invariant("J9")
async def test_waiting_for_a_person_costs_nothing_however_long(service, clock):
    running = await service.running()
    job(await service.operations.pause(held(running), review()))
    clock.at += 10**10
    assert await sweep(service) == []
    record = await service.record(running.id)
    assert (record.lease, record.ran_ms) == (None, 0)
