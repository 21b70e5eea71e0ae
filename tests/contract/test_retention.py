"""Finished jobs are removed, then their bytes: no data remains, and no data in use is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from support.jobs.job_examples import RESULT, TENANT, JobService, job, lease_of, review

from jobs.blobs.directory import DirectoryBlobs
from jobs.counting import day_of
from jobs.errors import BlobMissing, StaleEpoch
from jobs.model.record import REASONS_WITHOUT_RETRY, JobRecord, Reason, Status
from jobs.model.spec import JobSpec, OnExpiry
from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention, remove_finished, remove_unreferenced
from jobs.store import Charge, Writes
from jobs.store.blob_index import PinnedBlobs
from jobs.store.redis_store import RedisStore, connect

AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)
TIMED = {"review_expires_seconds": 1, "on_expiry": OnExpiry.REJECT}


class Removing:
    """A store that runs a callback before it removes a job."""

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


async def failed(service: JobService, reason: Reason):
    running = await service.running()
    await service.store.write(running.id, running.epoch, Writes(journal={"call": b"1"}))
    return job(await service.operations.fail(lease_of(running), reason, "why"))


async def succeeded(service: JobService, *digests: str, **fields: object):
    running = await service.running(**fields)
    writes = Writes((), {"call": b"1"}, (Charge("call", "critic", "m", 1, 1, None),), blobs=digests)
    await service.store.write(running.id, running.epoch, writes)
    return job(await service.operations.succeed(lease_of(running), RESULT, "did it"))


async def put(store, blobs, content: bytes) -> str:
    return await PinnedBlobs(blobs, store.blobs.pin, lambda _: None).put(content)


async def test_a_finished_job_is_removed_with_all_of_its_data(service, store):
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


async def test_checkpoints_and_journal_end_with_the_job_unless_a_retry_needs_them(service, store):
    over = [(await succeeded(service)).id]
    over += [
        (await failed(service, end_reason)).id
        for end_reason in (Reason.REJECTED, Reason.INCOMPATIBLE)
    ]
    assert [await store.journal(job_id) for job_id in over] == [{}] * len(over)
    for reason in set(Reason) - REASONS_WITHOUT_RETRY:
        failed_job = await failed(service, reason)
        assert await store.journal(failed_job.id) == {"call": b"1"}, reason
        retry_job = job(await service.operations.retry_as_new_job(failed_job.id, by="ann"))
        assert (retry_job.inherits, await store.journal(retry_job.id)) == (
            failed_job.id,
            {"call": b"1"},
        )
    running = await service.running()
    await store.write(running.id, running.epoch, Writes(journal={"call": b"1"}))
    cancelled = job(await service.operations.cancel(running.id, "ann"))
    assert await store.journal(cancelled.id) == {"call": b"1"}


async def test_recent_and_unfinished_jobs_stay(service, store):
    done, waiting = await succeeded(service), await service.submit()
    assert await remove_finished(store, Retention(60_000, 0)) == 0
    assert await remove_finished(store, AT_ONCE) == 1
    assert await store.load(done.id) is None
    assert await service.record(waiting.id) == waiting


async def test_a_job_that_cannot_be_removed_does_not_block_others(service, store):
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


async def test_a_job_that_cannot_be_read_does_not_block_others(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    bad = [(await service.submit()).id for _ in range(40)]
    bad_review, review_that_waits = [
        job(await service.operations.pause(lease_of(await service.running(**TIMED)), review()))
        for _ in range(2)
    ]
    waits = await service.submit()
    for job_id in (*bad, bad_review.id):
        await store.redis.hset(JobKeys(job_id).record, "state", "no json")
    due = dict.fromkeys(bad, 1) | {waits.id: 2}
    await store.redis.zadd(keys.DUE, due)
    await store.redis.hset(JobKeys(waits.id).record, "due_at", 2)
    service.hints.clear()
    await asyncio.sleep(1.05)  # the shortest allowed expiry of a review
    with pytest.raises(ValueError, match="Expecting value"):
        await service.operations.sweep()
    assert [job_id for job_id, _ in service.hints] == [waits.id]
    assert (await service.record(review_that_waits.id)).status is Status.FAILED
    await store.close()


async def test_a_conversation_keeps_the_turns_of_remaining_jobs(service, store):
    first = await succeeded(service)
    second = await succeeded(service, conversation_id=first.id)
    assert await store.remove(first)
    assert not await store.remove(first)
    turns = await store.conversation(TENANT, first.id, 9)
    assert [turn.job_id for turn in turns] == [second.id]


@pytest.mark.parametrize("beside", [{}, {"cached_input_tokens": 3, "reservation": "r"}])
async def test_charges_of_a_removed_job_are_not_stored(service, store, beside):
    done = await succeeded(service)
    assert await store.remove(done)
    late = Charge("late", "critic", "m", 1, 1, "0.01", **beside)
    await store.charge(done.id, [late])
    with pytest.raises(StaleEpoch):
        await store.write(done.id, done.epoch, Writes(charges=[late]))
    assert await store.charges(done.id) == []
    assert await store.redis.exists(*JobKeys(done.id).all) == 0


async def test_bytes_are_removed_with_the_last_job_that_refers_to_them(service, store, blobs):
    shared, unshared = await put(store, blobs, b"shared"), await put(store, blobs, b"own")
    first, second = await succeeded(service, shared, unshared), await succeeded(service, shared)
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(unshared) == b"own"
    await store.remove(first)
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(shared) == b"shared"
    with pytest.raises(BlobMissing):
        await blobs.get(unshared)
    await store.remove(second)
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(shared)


async def test_bytes_that_came_with_a_job_stay_with_this_job(store, blobs):
    digest = await put(store, blobs, b"input")
    service = JobService(store)
    spec = JobSpec("read it", workspace=digest)
    submitted = await service.operations.submit(TENANT, spec, by="ann", blobs=[digest])
    await remove_unreferenced(store, blobs, AT_ONCE)
    assert await blobs.get(digest) == b"input"
    cancelled = job(await service.operations.cancel(submitted.record.id, "ann"))
    await store.remove(cancelled)
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_new_bytes_stay_for_a_time_without_a_job_that_refers_to_them(store, blobs):
    digest = await put(store, blobs, b"fresh")
    await remove_unreferenced(store, blobs, Retention(0, grace_ms=60_000))
    assert await blobs.get(digest) == b"fresh"
    await remove_unreferenced(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_a_put_waits_for_a_removal_in_progress(store, blobs):
    """Otherwise the put would find the bytes present, and they would be lost."""
    digest = await put(store, blobs, b"again")
    digests = await store.blobs.take_unreferenced(-1, 10)
    assert list(digests.digests) == [digest]
    putting = asyncio.create_task(put(store, blobs, b"again"))
    await asyncio.sleep(0.1)
    assert not putting.done()
    await blobs.remove(digest)
    await store.blobs.confirm_removal([digest])
    await putting
    assert await blobs.get(digest) == b"again"
    assert list((await store.blobs.take_unreferenced(60_000, 10)).digests) == []


async def test_one_caller_gets_the_turn_in_every_interval(store):
    assert await store.leader.try_acquire("retention", 60_000)
    assert not await store.leader.try_acquire("retention", 60_000)
    assert await store.leader.try_acquire("sweep", 20)
    await asyncio.sleep(0.05)
    assert await store.leader.try_acquire("sweep", 20)


async def test_a_removal_of_a_dead_worker_is_continued(store, blobs):
    digest = "a" * 64
    await store.blobs.pin([digest])
    assert list((await store.blobs.take_unreferenced(-1, 10)).digests) == [digest]
    assert list((await store.blobs.take_unreferenced(-1, 10)).digests) == []
    await store.redis.hset(keys.DELETING, digest, await store.now() - 1)  # as after REMOVAL_MS
    assert list((await store.blobs.take_unreferenced(-1, 10)).digests) == [digest]


@pytest.mark.usefixtures("one_day")
async def test_after_many_jobs_redis_and_the_directory_are_as_before(redis_url, tmp_path):
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
    while await store.words.index_new_jobs():  # removed jobs are skipped
        pass
    assert set(await store.redis.keys("*")) <= constant
    assert await store.redis.ttl(day) > 0
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    assert set((await store.redis.hgetall("fettle:counts")).values()) == {b"0"}
    await store.close()


async def test_a_job_that_is_indexed_during_its_removal_leaves_no_words(
    service, store, monkeypatch
):
    done = await succeeded(service, labels=("nightly",))
    read_words = store.words.words_of

    async def read_words_before_step(record):
        words = await read_words(record)
        await store.words.index_new_jobs()
        return words

    monkeypatch.setattr(store.words, "words_of", read_words_before_step)
    assert not await store.remove(done)
    assert await store.remove(done)
    assert await store.redis.keys("fettle:word*") == []


async def test_a_removal_takes_a_job_out_of_listings_that_an_older_release_does_not_know(
    service, store
):
    done = await succeeded(service)
    queue, reviews = keys.queue(TENANT, done.spec.priority), keys.reviews(TENANT)
    await store.redis.zadd(queue, {done.id: done.created_at})
    await store.redis.hset(reviews, done.id, "[]")
    assert await store.remove(done)
    assert await store.redis.exists(queue, reviews) == 0
