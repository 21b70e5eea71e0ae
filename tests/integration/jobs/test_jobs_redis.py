"""Behaviour that only a real Redis shows: lost connections, races between clients."""

from __future__ import annotations

import asyncio
import random
import time

import pytest
import redis
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, job, lease_of, review

from jobs.errors import StaleEpoch
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Status
from jobs.store import Charge, Writes
from jobs.store import events as store_events
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Refusal


@pytest.fixture
async def store(redis_url):
    redis_store = RedisStore(connect(redis_url, seconds=20))
    yield redis_store
    await redis_store.close()


@pytest.fixture
def service(store):
    return JobService(store)


@pytest.mark.invariant("J5")
async def test_an_expired_workers_late_writes_are_refused_but_its_charges_kept(store, redis_url):
    service = JobService(store, lease_ms=20)
    old = await service.running()
    await asyncio.sleep(0.03)
    assert await service.operations.sweep() == 1
    new = await service.claim(old.id)
    late = RedisStore(connect(redis_url, seconds=20))
    writes = Writes(
        events=(NewEvent("late", "summarized", {}),),
        journal={"late": b"1"},
        charges=(Charge("late", "critic", "m", 1, 1, "0.1"),),
        commands=(("HSET", "fettle:checkpoint:late", "field", "1"),),
    )
    with pytest.raises(StaleEpoch):
        await late.write(old.id, old.epoch, writes)
    await late.close()
    assert await store.journal(old.id) == {}
    assert not await store.redis.exists("fettle:checkpoint:late")
    assert [charge.call for charge in await store.charges(old.id)] == ["late"]
    assert [event.kind for event in await store.events(old.id)] == [
        "submitted",
        "started",
        "lease_lost",
        "started",
    ]
    await store.write(new.id, new.epoch, writes)
    assert await store.redis.hget("fettle:checkpoint:late", "field") == b"1"
    assert len(await store.charges(old.id)) == 1


@pytest.mark.invariant("J10")
async def test_one_of_fifty_concurrent_decisions_applies(store, redis_url):
    service = JobService(store)
    running = await service.running()
    job(await service.operations.pause(lease_of(running), review()))
    clients = [JobService(RedisStore(connect(redis_url, seconds=20))) for _ in range(50)]
    answers = await asyncio.gather(
        *(
            client.operations.decide(running.id, decision(feedback=str(number)))
            for number, client in enumerate(clients)
        )
    )
    applied = [answer for answer in answers if isinstance(answer, JobRecord)]
    assert len(applied) == 1
    assert sum(len(client.hints) for client in clients) == 1
    assert (await service.kinds(running.id)).count("decided") == 1
    assert await service.record(running.id) == applied[0]
    await asyncio.gather(*(client.store.close() for client in clients))


@pytest.mark.invariant("J11")
async def test_cancel_against_completion_has_one_winner(service):
    chance, winners = random.Random(7), set()
    for _ in range(100):
        running = await service.running()

        async def run_after(operation, seconds):
            await asyncio.sleep(seconds)
            return await operation

        answers = await asyncio.gather(
            run_after(service.operations.cancel(running.id, "ann"), chance.random() * 0.004),
            run_after(
                service.operations.succeed(lease_of(running), RESULT, ""), chance.random() * 0.004
            ),
        )
        [won] = [answer for answer in answers if isinstance(answer, JobRecord)]
        [lost] = [answer for answer in answers if isinstance(answer, Refusal)]
        assert lost.status is won.status
        assert await service.record(running.id) == won
        assert (await service.kinds(running.id))[2:] == [str(won.status)]
        turns = await service.store.conversation(TENANT, running.id, 1)
        assert len(turns) == (won.status is Status.SUCCEEDED)
        winners.add(won.status)
    assert winners == {Status.CANCELLED, Status.SUCCEEDED}


async def test_a_waiting_reader_survives_a_lost_connection(service, store, redis_url, monkeypatch):
    # The reader is woken, so it does not have to poll.
    monkeypatch.setattr(store_events, "POLL_SECONDS", 60)
    running = await service.running()
    waiting = asyncio.create_task(store.wait_events(running.id, 2, 60))
    async with store.stops() as stops:
        await asyncio.sleep(0.05)
        with redis.Redis.from_url(redis_url) as client:
            assert client.client_kill_filter(_type="pubsub") == 1
            # published while no reader listens
            await store.write(running.id, 1, Writes(events=(NewEvent("e", "summarized", {}),)))
        killed = time.monotonic()
        assert [event.kind for event in await waiting] == ["summarized"]
        assert await asyncio.wait_for(stops.get(), 20) == ""
        job(await service.operations.cancel(running.id, "ann"))
        assert await asyncio.wait_for(stops.get(), 20) == running.id
    assert time.monotonic() - killed < 20


async def test_two_sweepers_send_one_hint(store, redis_url, monkeypatch):
    # Even if these sweeps take long, no sweep comes after the pause before a second hint.
    monkeypatch.setattr(lifecycle, "AFTER_CRASH_MS", 60_000)
    service = JobService(store, lease_ms=20)
    running = [await service.running() for _ in range(20)]
    await asyncio.sleep(0.03)
    sweepers = [
        JobService(RedisStore(connect(redis_url, seconds=20)), lease_ms=20) for _ in range(4)
    ]
    swept = await asyncio.gather(*(sweeper.operations.sweep() for sweeper in sweepers))
    hinted = sorted(name for sweeper in sweepers for name, _ in sweeper.hints)
    assert (sum(swept), hinted) == (20, sorted(record.id for record in running))
    await asyncio.gather(*(sweeper.store.close() for sweeper in sweepers))
