"""Finished jobs go, then their bytes: nothing leaks, and nothing that is in use is lost."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from redis.exceptions import ConnectionError  # noqa: A004 - what a lost connection raises
from support.jobs.job_examples import RESULT, TENANT, JobService, held, job, review

from jobs.blobs.directory import DirectoryBlobs
from jobs.counting import day_of
from jobs.errors import BlobMissing, StaleEpoch, StoreUnavailable
from jobs.model.events import EVENTS_AT_ONCE, Event, NewEvent
from jobs.model.record import OVER, JobRecord, Reason, Status
from jobs.model.spec import JobSpec, OnExpiry
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention, remove_finished, remove_unreferenced
from jobs.store import Charge, Writes
from jobs.store import events as store_events
from jobs.store.blob_index import PinnedBlobs
from jobs.store.index import FORGOTTEN_AT_ONCE
from jobs.store.redis_store import RedisStore, connect
from worker.background.retention import remove_forever

AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)
TIMED = {"review_expires_seconds": 1, "on_expiry": OnExpiry.REJECT}


class Removing:
    """A store, but for what is done before a job is removed."""

    def __init__(self, store: RedisStore, first: Callable[[str], None]) -> None:
        self._store = store
        self._first = first

    async def remove(self, record: JobRecord) -> bool:
        self._first(record.id)
        return await self._store.remove(record)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
def blobs(tmp_path) -> DirectoryBlobs:
    return DirectoryBlobs(tmp_path)


async def checkpoints(store: RedisStore, job_id: str, count: int) -> None:
    """So many checkpoints of a job in two namespaces, as worker.checkpoints keeps them."""
    index = f"{keys.CHECKPOINT}:{job_id}"
    async with store.redis.pipeline(transaction=False) as pipe:
        for number in range(count):
            name = f"{'executor' if number % 2 else ''}:{number:05d}"
            pipe.hset(f"{index}:{name}", "c", "x" * 100)
            pipe.zadd(index, {name: 0})
        for namespace in ("", "executor"):
            pipe.hset(f"{index}:{namespace}", "messages@1", "x" * 100)
        await pipe.execute()


async def failed(service: JobService, reason: Reason):
    running = await service.running()
    await service.store.write(running.id, running.epoch, Writes(journal={"call": b"1"}))
    return job(await service.operations.fail(held(running), reason, "why"))


async def succeeded(service: JobService, *digests: str, **fields: object):
    running = await service.running(**fields)
    writes = Writes((), {"call": b"1"}, (Charge("call", "critic", "m", 1, 1, None),), blobs=digests)
    await service.store.write(running.id, running.epoch, writes)
    return job(await service.operations.succeed(held(running), RESULT, "did it"))


async def put(store, blobs, content: bytes) -> str:
    return await PinnedBlobs(blobs, store.blobs, lambda _: None).put(content)


async def test_a_finished_job_goes_with_all_that_is_kept_of_it(service, store):
    done = await succeeded(service, "a" * 64, labels=("nightly",))
    assert await remove_finished(store, AT_ONCE) == 1
    assert await store.load(done.id) is None
    assert await store.events(done.id) == []
    assert await store.journal(done.id) == {}
    assert await store.charges(done.id) == []
    assert await store.conversation(TENANT, done.id, 9) == []
    assert (await store.counts())[Status.SUCCEEDED] == 0
    for status, label in ((None, None), (Status.SUCCEEDED, None), (None, "nightly")):
        page = await store.page(TENANT, limit=9, offset=0, status=status, label=label)
        assert (list(page.records), page.total) == ([], 0)
    assert await remove_finished(store, AT_ONCE) == 0


async def test_what_serves_to_go_on_ends_with_the_job_unless_a_retry_needs_it(service, store):
    over = [(await succeeded(service)).id]
    over += [(await failed(service, each)).id for each in (Reason.REJECTED, Reason.INCOMPATIBLE)]
    assert [await store.journal(job_id) for job_id in over] == [{}] * len(over)
    for reason in set(Reason) - OVER:
        kept = await failed(service, reason)
        assert await store.journal(kept.id) == {"call": b"1"}, reason
        heir = job(await service.operations.retry_as_new_job(kept.id, by="ann"))
        assert (heir.inherits, await store.journal(heir.id)) == (kept.id, {"call": b"1"})
    running = await service.running()
    await store.write(running.id, running.epoch, Writes(journal={"call": b"1"}))
    cancelled = job(await service.operations.cancel(running.id, "ann"))
    assert await store.journal(cancelled.id) == {"call": b"1"}


async def test_checkpoints_go_in_the_step_that_ends_the_job(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    running = await service.running()
    await checkpoints(store, running.id, 500)
    await store.write(running.id, running.epoch, Writes(journal={"call": b"1"}))
    asked: list[tuple[str, str]] = []
    async with store.redis.monitor() as monitor:
        job(await service.operations.succeed(held(running), RESULT, "did it"))
        await store.redis.echo("end")
        async for shown in monitor.listen():
            if shown["command"].startswith("ECHO"):
                break
            asked.append((shown["client_type"], shown["command"]))
    assert await store.redis.keys(f"{keys.CHECKPOINT}*") == []
    assert await store.redis.exists(*JobKeys(running.id).working) == 0
    # within one script: nobody sees the end without them gone, or them gone without the end
    inside = [number for number, (whose, _) in enumerate(asked) if whose == "lua"]
    assert inside == list(range(inside[0], inside[-1] + 1))
    ends, goes = f"HSET {JobKeys(running.id).record} ", f"UNLINK {keys.CHECKPOINT}:{running.id}"
    for change in (ends, goes):
        found = [number for number, (_, asks) in enumerate(asked) if asks.startswith(change)]
        assert found, asked
        assert set(found) <= set(inside)
    await store.close()


async def test_a_long_story_of_a_job_that_ended_is_the_same_in_fewer_bytes(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    running = await service.running()
    for number in range(450):  # more than are read, or packed, at a time
        text = f"{number}: " + "a line of what the program has printed\n" * 20
        event = NewEvent(f"say:{number}", "summarized", {"text": text})
        await store.write(running.id, running.epoch, Writes((event,)))
    before = await store.events(running.id)
    name = JobKeys(running.id).events
    size = await store.redis.memory_usage(name, samples=0)
    job(await service.operations.succeed(held(running), RESULT))
    assert (await store.events(running.id))[:-1] == before
    assert await store.wait_events(running.id, 300, 1) == before[300 : 300 + EVENTS_AT_ONCE]
    assert await store.redis.memory_usage(name, samples=0) < size / 4
    await store.close()


async def test_much_json_is_read_off_the_event_loop(redis_url, monkeypatch):
    store = RedisStore(connect(redis_url, seconds=20))
    running = await JobService(store).running()
    event = NewEvent("say", "summarized", {"text": "x" * 2 * store_events.READ_HERE_BYTES})
    await store.write(running.id, running.epoch, Writes((event,)))
    read, threads = store_events.read_event, set[int]()

    def noted(seq: int, stored: bytes) -> Event:
        threads.add(threading.get_ident())
        return read(seq, stored)

    monkeypatch.setattr(store_events, "read_event", noted)
    assert len(await store.events(running.id)) == 3
    assert threads
    assert threading.get_ident() not in threads
    await store.close()


async def test_what_is_young_or_not_final_stays(service, store):
    done, waiting = await succeeded(service), await service.submit()
    assert await remove_finished(store, Retention(60_000, 0)) == 0
    assert await remove_finished(store, AT_ONCE) == 1
    assert await store.load(done.id) is None
    assert await service.record(waiting.id) == waiting


async def test_all_go_in_batches_the_oldest_first(service, store):
    done = [(await succeeded(service)).id for _ in range(5)]
    ended = {job_id: ((await service.record(job_id)).updated_at, job_id) for job_id in done}
    gone: list[str] = []
    seen = Removing(store, gone.append)
    assert await remove_finished(seen, Retention(-1, 0, batch=2)) == 5
    assert gone == sorted(done, key=ended.get)


async def test_a_job_that_cannot_be_removed_hinders_no_other(service, store):
    bad = [(await succeeded(service)).id for _ in range(3)]
    good = await succeeded(service)

    def refuse(job_id: str) -> None:
        if job_id in bad:
            raise ValueError("not a record")

    with pytest.raises(ValueError, match="not a record") as raised:
        await remove_finished(Removing(store, refuse), Retention(-1, 0, batch=2))
    assert raised.value.__notes__[0].removeprefix("job ") in bad
    assert await store.load(good.id) is None
    assert all([await store.load(job_id) for job_id in bad])


async def test_bytes_that_cannot_be_removed_hinder_no_others_and_wait_for_a_grace_period(
    store, tmp_path
):
    class Stuck(DirectoryBlobs):
        async def remove(self, digest: str) -> None:
            if digest in bad:
                raise PermissionError(digest)
            await super().remove(digest)

    blobs = Stuck(tmp_path)
    bad = {await put(store, blobs, content) for content in (b"1", b"2")}
    await asyncio.sleep(0.002)
    good = await put(store, blobs, b"3")
    for _ in range(2):
        with pytest.raises(PermissionError):
            await remove_unreferenced(store, blobs, Retention(0, -1, batch=2))
    with pytest.raises(BlobMissing):
        await blobs.get(good)
    assert await remove_unreferenced(store, blobs, Retention(0, 60_000)) == 0
    async with asyncio.timeout(20):  # it is not marked as one that goes
        await put(store, blobs, b"1")


async def test_bytes_that_cannot_be_removed_are_found_again_wherever_their_remover_dies(
    redis_url, tmp_path
):
    class ReadOnly(DirectoryBlobs):
        async def remove(self, digest: str) -> None:
            raise PermissionError(digest)

    class Dying:
        """The index, as whoever is killed after some steps uses it."""

        def __init__(self, steps: int) -> None:
            self.left = steps

        def __getattr__(self, step: str) -> object:
            self.left -= 1
            if self.left < 0:
                raise asyncio.CancelledError
            return getattr(store.blobs, step)

    store = RedisStore(connect(redis_url, seconds=20))
    for steps in (1, 2, 3, 4):
        blobs = ReadOnly(tmp_path)
        digest = await put(store, blobs, b"%d" % steps)
        with pytest.raises((asyncio.CancelledError, PermissionError)) as ended:
            await remove_unreferenced(SimpleNamespace(blobs=Dying(steps)), blobs, Retention(0, -1))
        loose = await store.redis.zscore(keys.UNREFERENCED, digest)
        assert loose or await store.redis.hexists(keys.DELETING, digest), steps
    assert ended.type is PermissionError
    await store.close()


async def test_what_has_no_record_leaves_the_index_and_hinders_nobody(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    waits, done = await service.submit(), await succeeded(service)
    service.hints.clear()
    strays = {f"stray-{number}": 1 for number in range(120)}
    indexes = (keys.DUE, keys.AWAITING_REVIEW, keys.FINISHED)
    for index in indexes:
        await store.redis.zadd(index, strays)
    await store.redis.zadd(keys.DUE, {waits.id: 2})
    await store.redis.hset(JobKeys(waits.id).record, "due_at", 2)
    assert await service.operations.sweep() == 1
    assert [job_id for job_id, _ in service.hints] == [waits.id]
    assert await remove_finished(store, AT_ONCE) == 1
    assert await store.load(done.id) is None
    assert [await store.redis.zcard(index) for index in indexes] == [1, 0, 0]
    await store.close()


async def test_what_cannot_be_read_hinders_no_other(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    bad = [(await service.submit()).id for _ in range(40)]
    bad_review, review_that_waits = [
        job(await service.operations.pause(held(await service.running(**TIMED)), review()))
        for _ in range(2)
    ]
    waits = await service.submit()
    for job_id in (*bad, bad_review.id):
        await store.redis.hset(JobKeys(job_id).record, "state", "no json")
    due = dict.fromkeys(bad, 1) | {waits.id: 2}
    await store.redis.zadd(keys.DUE, due)
    await store.redis.hset(JobKeys(waits.id).record, "due_at", 2)
    service.hints.clear()
    await asyncio.sleep(1.05)  # what a review may wait at least
    with pytest.raises(ValueError, match="Expecting value"):
        await service.operations.sweep()
    assert [job_id for job_id, _ in service.hints] == [waits.id]
    assert (await service.record(review_that_waits.id)).status is Status.FAILED
    await store.close()


async def test_a_removal_cut_off_amid_the_checkpoints_is_found_again(redis_url, monkeypatch):
    store = RedisStore(connect(redis_url, seconds=20))
    done = await failed(JobService(store), Reason.INTERNAL)
    await checkpoints(store, done.id, FORGOTTEN_AT_ONCE + 1)
    left = f"{keys.CHECKPOINT}:{done.id}"

    async def gone(name: str) -> None:
        raise ConnectionError(name)

    with monkeypatch.context() as cut:
        cut.setattr(store.redis, "exists", gone)  # asked between two steps
        with pytest.raises(StoreUnavailable):
            await remove_finished(store, AT_ONCE)
    assert await store.redis.zcard(left) == 1
    assert (await store.load(done.id)).record == done
    assert await remove_finished(store, AT_ONCE) == 1
    assert await store.redis.keys(f"{keys.CHECKPOINT}*") == []
    assert await store.load(done.id) is None
    await store.close()


async def test_a_conversation_keeps_the_turns_of_jobs_that_stay(service, store):
    first = await succeeded(service)
    second = await succeeded(service, conversation_id=first.id)
    assert await store.remove(first)
    assert not await store.remove(first)
    turns = await store.conversation(TENANT, first.id, 9)
    assert [turn.job_id for turn in turns] == [second.id]


@pytest.mark.parametrize("beside", [{}, {"cached_input_tokens": 3, "reservation": "r"}])
async def test_what_was_paid_for_a_job_that_is_gone_is_not_kept(service, store, beside):
    done = await succeeded(service)
    assert await store.remove(done)
    late = Charge("late", "critic", "m", 1, 1, "0.01", **beside)
    await store.charge(done.id, [late])
    with pytest.raises(StaleEpoch):
        await store.write(done.id, done.epoch, Writes(charges=[late]))
    assert await store.charges(done.id) == []
    if isinstance(store, RedisStore):
        assert await store.redis.exists(*JobKeys(done.id).all) == 0


async def test_bytes_go_when_the_last_job_that_refers_to_them_has_gone(service, store, blobs):
    shared, own = await put(store, blobs, b"shared"), await put(store, blobs, b"own")
    first, second = await succeeded(service, shared, own), await succeeded(service, shared)
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(own) == b"own"
    await store.remove(first)
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(shared) == b"shared"
    with pytest.raises(BlobMissing):
        await blobs.get(own)
    await store.remove(second)
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(shared)


async def test_bytes_that_came_with_a_job_are_its_own(store, blobs):
    digest = await put(store, blobs, b"input")
    service = JobService(store)
    spec = JobSpec("read it", workspace=digest)
    submitted = await service.operations.submit(TENANT, spec, by="ann", blobs=[digest])
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(digest) == b"input"
    ended = job(await service.operations.cancel(submitted.record.id, "ann"))
    await store.remove(ended)
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_bytes_within_their_grace_stay_though_nobody_refers_to_them_yet(store, blobs):
    digest = await put(store, blobs, b"fresh")
    await remove_unreferenced(store, blobs, Retention(0, grace_ms=60_000))
    assert await blobs.get(digest) == b"fresh"
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_bytes_of_a_refused_write_are_nobodys(service, store, blobs):
    """A worker that lost its lease has put them, and cannot name them any more."""
    running = await service.running()
    digest = await put(store, blobs, b"late")
    job(await service.operations.cancel(running.id, "ann"))
    with pytest.raises(Exception, match="no longer owns"):
        await store.write(running.id, running.epoch, Writes((), {"c": b"1"}, blobs=[digest]))
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_a_put_waits_for_a_removal_that_is_under_way(store, blobs):
    """Else it would find the bytes present, and lose them."""
    digest = await put(store, blobs, b"again")
    taken = await store.blobs.take(-1, 10)
    assert list(taken.digests) == [digest]
    putting = asyncio.create_task(put(store, blobs, b"again"))
    await asyncio.sleep(0.1)
    assert not putting.done()
    await blobs.remove(digest)
    await store.blobs.removed([digest])
    await putting
    assert await blobs.get(digest) == b"again"
    assert list((await store.blobs.take(60_000, 10)).digests) == []


async def test_one_callers_turn_in_every_interval(store):
    assert await store.leader.try_acquire("retention", 60_000)
    assert not await store.leader.try_acquire("retention", 60_000)
    assert await store.leader.try_acquire("sweep", 20)
    await asyncio.sleep(0.05)
    assert await store.leader.try_acquire("sweep", 20)


async def test_what_a_dead_remover_left_half_way_is_taken_up(store, blobs):
    digest = "a" * 64
    await store.blobs.pin([digest])
    assert list((await store.blobs.take(-1, 10)).digests) == [digest]
    assert list((await store.blobs.take(-1, 10)).digests) == []
    await store.redis.hset(keys.DELETING, digest, await store.now() - 1)  # as REMOVAL_MS later
    assert list((await store.blobs.take(-1, 10)).digests) == [digest]


async def test_bytes_go_though_a_finished_job_cannot_be_read(redis_url, tmp_path):
    store, blobs = RedisStore(connect(redis_url, seconds=20)), DirectoryBlobs(tmp_path)
    done = await succeeded(JobService(store))
    await store.redis.hset(JobKeys(done.id).record, "state", "no json")
    await put(store, blobs, b"loose")
    removing = asyncio.create_task(remove_forever(store, blobs, AT_ONCE, 0.01))
    async with asyncio.timeout(20):
        while await store.redis.exists(keys.UNREFERENCED, keys.DELETING):
            await asyncio.sleep(0.01)
    removing.cancel()
    await asyncio.gather(removing, return_exceptions=True)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    await store.close()


@pytest.mark.usefixtures("one_day")
async def test_after_many_jobs_redis_and_the_directory_are_where_they_were(redis_url, tmp_path):
    store = RedisStore(connect(redis_url, seconds=20))
    service, blobs = JobService(store), DirectoryBlobs(tmp_path)
    day = keys.day_counts(TENANT, day_of(await store.now()))
    constant = {b"fettle:counts", b"fettle:changes", day.encode()}
    for number in range(40):
        digest = await put(store, blobs, b"%d" % (number % 30))
        await succeeded(service, digest, labels=(f"l{number % 3}",))
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 30
    while await remove_finished(store, Retention(-1, -1, batch=7)):
        pass
    while await remove_unreferenced(store, blobs, Retention(-1, -1, batch=7)):
        pass
    while await store.words.index():  # what has gone is passed over
        pass
    assert set(await store.redis.keys("*")) <= constant
    assert await store.redis.ttl(day) > 0
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    assert set((await store.redis.hgetall("fettle:counts")).values()) == {b"0"}
    await store.close()
