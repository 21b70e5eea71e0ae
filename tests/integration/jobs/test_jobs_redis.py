"""What only a real Redis can show: power cuts, lost connections, races between clients."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import time

import pytest
import redis
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, held, job, review
from support.servers import redis_servers

from jobs.errors import StaleEpoch, StoreUnavailable
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobSpec
from jobs.redis.keys import JobKeys
from jobs.store import Charge, Writes
from jobs.store import events as store_events
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Refusal

BINARY = next(iter(redis_servers.binaries().values()))


@pytest.fixture
async def store(redis_url):
    kept = RedisStore(connect(redis_url, seconds=20))
    yield kept
    await kept.close()


@pytest.fixture
def service(store):
    return JobService(store)


@pytest.mark.invariant("J1")
async def test_every_job_whose_submission_returned_survives_a_power_cut(tmp_path):
    accepted: list[str] = []
    with redis_servers.start(BINARY, tmp_path) as server:
        service = JobService(RedisStore(connect(server.url, seconds=20)))

        async def submit_on_and_on():
            while True:
                accepted.append((await service.submit(conversation_id="c")).id)

        async def cut():
            while len(accepted) < 200:
                await asyncio.sleep(0.001)
            os.kill(server.process.pid, signal.SIGKILL)

        clients = [asyncio.create_task(submit_on_and_on()) for _ in range(8)]
        await asyncio.gather(cut())
        for ended in await asyncio.gather(*clients, return_exceptions=True):
            assert isinstance(ended, StoreUnavailable)
        await service.store.close()
    with redis_servers.start(BINARY, tmp_path) as server:
        service = JobService(RedisStore(connect(server.url, seconds=20)))
        for job_id in accepted:
            record = await service.record(job_id)
            assert record.status is Status.QUEUED
            assert await service.kinds(job_id) == ["submitted"]
        counts = await service.store.counts()
        page = await service.store.page(TENANT, limit=1_000, offset=0, status=None, label=None)
        assert counts[Status.QUEUED] == page.total >= len(accepted)
        await service.store.close()


async def test_a_review_survives_a_restart(tmp_path):
    with redis_servers.start(BINARY, tmp_path) as server:
        service = JobService(RedisStore(connect(server.url, seconds=20)))
        running = await service.running()
        paused = job(await service.operations.pause(held(running), review()))
        server.kill()
        await service.store.close()
    with redis_servers.start(BINARY, tmp_path) as server:
        service = JobService(RedisStore(connect(server.url, seconds=20)))
        assert (await service.record(running.id)).review == paused.review
        job(await service.operations.decide(running.id, decision()))
        assert (await service.claim(running.id)).epoch == 2
        await service.store.close()


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
        commands=(("SET", "fettle:checkpoint:late", "1"),),
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
    assert await store.redis.get("fettle:checkpoint:late") == b"1"
    assert len(await store.charges(old.id)) == 1


@pytest.mark.invariant("J10")
async def test_one_of_fifty_decisions_of_as_many_clients_applies(store, redis_url):
    service = JobService(store)
    running = await service.running()
    job(await service.operations.pause(held(running), review()))
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

        async def later(operation, seconds):
            await asyncio.sleep(seconds)
            return await operation

        answers = await asyncio.gather(
            later(service.operations.cancel(running.id, "ann"), chance.random() * 0.004),
            later(service.operations.succeed(held(running), RESULT, ""), chance.random() * 0.004),
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


async def test_a_waiting_reader_wakes_within_milliseconds(service, store):
    running = await service.running()
    delays = []
    for number in range(20):
        waiting = asyncio.create_task(store.wait_events(running.id, 2 + number, 20))
        await asyncio.sleep(0.005)
        event = NewEvent(f"e{number}", "summarized", {})
        await store.write(running.id, 1, Writes(events=(event,)))
        written = time.monotonic()
        assert len(await waiting) == 1
        delays.append(time.monotonic() - written)
    assert sorted(delays)[10] < 0.05


async def test_a_waiting_reader_survives_a_lost_connection(service, store, redis_url, monkeypatch):
    monkeypatch.setattr(store_events, "LOOK_SECONDS", 60)  # it is told, and need not look
    running = await service.running()
    waiting = asyncio.create_task(store.wait_events(running.id, 2, 60))
    async with store.stops() as stops:
        await asyncio.sleep(0.05)
        with redis.Redis.from_url(redis_url) as client:
            assert client.client_kill_filter(_type="pubsub") == 1
            # said while nobody listens
            await store.write(running.id, 1, Writes(events=(NewEvent("e", "summarized", {}),)))
        killed = time.monotonic()
        assert [event.kind for event in await waiting] == ["summarized"]
        assert await asyncio.wait_for(stops.get(), 20) == ""
        job(await service.operations.cancel(running.id, "ann"))
        assert await asyncio.wait_for(stops.get(), 20) == running.id
    assert time.monotonic() - killed < 20


async def test_connections_that_died_while_idle_are_replaced_unseen(service, redis_url):
    record = await service.submit()
    await asyncio.gather(*(service.record(record.id) for _ in range(5)))
    with redis.Redis.from_url(redis_url) as client:
        assert client.client_kill_filter(_type="normal", skipme=True) >= 5
    await asyncio.sleep(0.02)
    assert await service.record(record.id) == record
    await service.claim(record.id)


async def test_many_readers_share_one_connection(store, redis_url):
    service = JobService(store)
    records = [await service.running() for _ in range(20)]
    waits = [asyncio.create_task(store.wait_events(r.id, 2, 60)) for r in records for _ in range(3)]
    with redis.Redis.from_url(redis_url) as client:
        async with asyncio.timeout(20):
            while len(client.pubsub_channels()) < 20:
                await asyncio.sleep(0.01)
        assert len(client.client_list(_type="pubsub")) == 1
    for record in records:
        job(await service.operations.cancel(record.id, "ann"))
    assert [len(found) for found in await asyncio.gather(*waits)] == [1] * 60


async def test_a_cancelled_task_ends_whatever_redis_is_doing(service, store):
    record = await service.submit()

    async def load_on_and_on():
        while True:
            await store.load(record.id)

    for _ in range(100):
        reader = asyncio.create_task(load_on_and_on())
        await asyncio.sleep(random.random() * 0.003)
        reader.cancel()
        done, _ = await asyncio.wait({reader}, timeout=20)
        assert done


async def test_a_hanging_redis_is_given_up_within_seconds(tmp_path):
    with redis_servers.start(BINARY, tmp_path) as server:
        patient = RedisStore(connect(server.url, seconds=20))
        record = await JobService(patient).submit()
        await patient.close()
        store = RedisStore(connect(server.url, seconds=0.3))
        service = JobService(store)
        os.kill(server.process.pid, signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await service.operations.cancel(record.id, "ann")
        with pytest.raises(StoreUnavailable):
            await store.wait_events(record.id, 1, 60)
        assert time.monotonic() - started < 20
        os.kill(server.process.pid, signal.SIGCONT)
        async with asyncio.timeout(20):  # a busy machine may try its patience once more
            while True:
                with contextlib.suppress(StoreUnavailable):
                    await service.operations.cancel(record.id, "ann")
                    assert (await service.record(record.id)).status is Status.CANCELLED
                    break
        await store.close()


async def test_two_sweepers_send_one_hint(store, redis_url, monkeypatch):
    # However long these sweeps take, none comes after the pause before a second hint.
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


async def test_a_commands_bytes_arrive_as_they_are(service, store):
    running = await service.running()
    blob = bytes(range(256))
    commands = (("HSET", "fettle:checkpoint:x", b"\xff", blob), ("ZADD", "fettle:z", 1.5, "m"))
    await store.write(running.id, 1, Writes(commands=commands))
    assert await store.redis.hget("fettle:checkpoint:x", b"\xff") == blob
    assert await store.redis.zscore("fettle:z", "m") == 1.5
    assert (await service.record(running.id)).progress_epoch == 1


async def test_nothing_of_a_job_lies_outside_its_names(service, store):
    running = await service.running(labels=("l",), conversation_id="c")
    await store.write(
        running.id,
        1,
        Writes((), {"a": b"1"}, (Charge("c", "r", "m", 1, 1, None),), "a" * 64, blobs=["a" * 64]),
    )
    job(await service.operations.succeed(held(running), RESULT, "s"))
    found = {key.decode() for key in await store.redis.keys("*")}
    mine = JobKeys(running.id)
    assert mine.record in found
    days = {name for name in found if name.startswith("fettle:numbers:acme:")}
    assert found - set(mine.all) - days == {
        "fettle:blobs:references",
        "fettle:counts",
        "fettle:changes",
        "fettle:finished",
        "fettle:jobs:acme",
        "fettle:jobs:acme:label:l",
        "fettle:jobs:acme:status:succeeded",
        "fettle:turns:acme:c",
        "fettle:unindexed",
    }


async def test_a_submission_is_accepted_or_known_to_be_unknown(tmp_path):
    with redis_servers.start(BINARY, tmp_path) as server:
        service = JobService(RedisStore(connect(server.url, seconds=20)))
        server.kill()
        with pytest.raises(StoreUnavailable):
            await service.operations.submit(TENANT, JobSpec("add"), by="ann")
        assert service.hints == []
        await service.store.close()
