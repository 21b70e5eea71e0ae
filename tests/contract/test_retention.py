"""Finished jobs go, then their bytes: nothing leaks, and nothing that is in use is lost."""

from __future__ import annotations

import asyncio

import pytest
from job_examples import RESULT, TENANT, House, held, job

from jobs import keys
from jobs.blob_index import REMOVAL_MS, HeldBlobs
from jobs.blobs import DirectoryBlobs, MemoryBlobs
from jobs.errors import BlobMissing, StoreUnavailable
from jobs.memory_store import MemoryStore
from jobs.numbers import day_of
from jobs.record import Status
from jobs.redis_store import RedisStore, connect
from jobs.retention import Retention, remove_finished, remove_loose
from jobs.spec import JobSpec
from jobs.store import Charge, Writes

AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)


class Checkpoints:
    """Remembers whose were removed."""

    def __init__(self) -> None:
        self.forgotten: list[str] = []

    async def forget(self, job_id: str) -> None:
        self.forgotten.append(job_id)


async def succeeded(house: House, *digests: str, **fields: object):
    running = await house.running(**fields)
    writes = Writes((), {"call": b"1"}, (Charge("call", "critic", "m", 1, 1, None),), blobs=digests)
    await house.store.write(running.id, running.epoch, writes)
    return job(await house.operations.succeed(held(running), RESULT, "did it"))


async def put(store, blobs, content: bytes) -> str:
    return await HeldBlobs(blobs, store.blobs, lambda _: None).put(content)


async def test_a_finished_job_goes_with_all_that_is_kept_of_it(house, store):
    checkpoints = Checkpoints()
    done = await succeeded(house, "a" * 64, labels=("nightly",))
    assert await remove_finished(store, checkpoints.forget, AT_ONCE) == 1
    assert checkpoints.forgotten == [done.id]
    assert await store.load(done.id) is None
    assert await store.events(done.id) == []
    assert await store.journal(done.id) == {}
    assert await store.charges(done.id) == []
    assert await store.conversation(TENANT, done.id, 9) == []
    assert (await store.counts())[Status.SUCCEEDED] == 0
    for status, label in ((None, None), (Status.SUCCEEDED, None), (None, "nightly")):
        page = await store.page(TENANT, limit=9, offset=0, status=status, label=label)
        assert (list(page.records), page.total) == ([], 0)
    assert await remove_finished(store, checkpoints.forget, AT_ONCE) == 0


async def test_what_is_young_or_not_final_stays(house, store):
    done, waiting = await succeeded(house), await house.submit()
    nobody = Checkpoints()
    assert await remove_finished(store, nobody.forget, Retention(60_000, 0)) == 0
    assert await remove_finished(store, nobody.forget, AT_ONCE) == 1
    assert nobody.forgotten == [done.id]
    assert await house.record(waiting.id) == waiting


async def test_a_batch_is_bounded_and_the_oldest_go_first(house, store):
    done = [(await succeeded(house)).id for _ in range(5)]
    seen = Checkpoints()
    assert await remove_finished(store, seen.forget, Retention(-1, 0, batch=3)) == 3
    assert await remove_finished(store, seen.forget, Retention(-1, 0, batch=3)) == 2
    assert sorted(seen.forgotten) == sorted(done)


async def test_a_removal_cut_off_behind_the_checkpoints_is_found_again(house, store):
    done = await succeeded(house)

    async def dies(job_id: str) -> None:
        raise StoreUnavailable("gone")

    with pytest.raises(StoreUnavailable):
        await remove_finished(store, dies, AT_ONCE)
    assert await house.record(done.id) == done
    assert await remove_finished(store, Checkpoints().forget, AT_ONCE) == 1


async def test_a_conversation_keeps_the_turns_of_jobs_that_stay(house, store):
    first = await succeeded(house)
    second = await succeeded(house, conversation_id=first.id)
    assert await store.remove(first)
    assert not await store.remove(first)
    turns = await store.conversation(TENANT, first.id, 9)
    assert [turn.job_id for turn in turns] == [second.id]


async def test_bytes_go_when_the_last_job_that_refers_to_them_has_gone(house, store):
    blobs = MemoryBlobs()
    shared, own = await put(store, blobs, b"shared"), await put(store, blobs, b"own")
    first, second = await succeeded(house, shared, own), await succeeded(house, shared)
    await remove_loose(store, blobs, AT_ONCE)
    assert await blobs.get(own) == b"own"
    await store.remove(first)
    await remove_loose(store, blobs, AT_ONCE)
    assert await blobs.get(shared) == b"shared"
    with pytest.raises(BlobMissing):
        await blobs.get(own)
    await store.remove(second)
    await remove_loose(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(shared)


async def test_bytes_that_came_with_a_job_are_its_own(store):
    blobs = MemoryBlobs()
    digest = await put(store, blobs, b"input")
    house = House(store)
    spec = JobSpec("read it", workspace=digest)
    submitted = await house.operations.submit(TENANT, spec, by="ann", blobs=[digest])
    await remove_loose(store, blobs, AT_ONCE)
    assert await blobs.get(digest) == b"input"
    ended = job(await house.operations.cancel(submitted.record.id, "ann"))
    await store.remove(ended)
    await remove_loose(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_bytes_within_their_grace_stay_though_nobody_refers_to_them_yet(store):
    blobs = MemoryBlobs()
    digest = await put(store, blobs, b"fresh")
    await remove_loose(store, blobs, Retention(0, grace_ms=60_000))
    assert await blobs.get(digest) == b"fresh"
    await remove_loose(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_bytes_of_a_refused_write_are_nobodys(house, store):
    """A worker that lost its lease has put them, and cannot name them any more."""
    blobs = MemoryBlobs()
    running = await house.running()
    digest = await put(store, blobs, b"late")
    job(await house.operations.cancel(running.id, "ann"))
    with pytest.raises(Exception, match="no longer owns"):
        await store.write(running.id, running.epoch, Writes((), {"c": b"1"}, blobs=[digest]))
    await remove_loose(store, blobs, AT_ONCE)
    with pytest.raises(BlobMissing):
        await blobs.get(digest)


async def test_a_put_waits_for_a_removal_that_is_under_way(store):
    """Else it would find the bytes present, and lose them."""
    blobs = MemoryBlobs()
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
    assert await store.turns.mine("retention", 150)
    assert not await store.turns.mine("retention", 150)
    assert await store.turns.mine("sweep", 150)
    await asyncio.sleep(0.2)
    assert await store.turns.mine("retention", 150)


async def test_a_turn_can_be_kept_but_not_taken_up_again(store):
    assert await store.turns.mine("alone", 150)
    await store.turns.keep("alone", 60_000)
    await store.turns.keep("another", 60_000)
    await asyncio.sleep(0.2)
    assert not await store.turns.mine("alone", 150)
    assert await store.turns.mine("another", 150)


async def test_what_a_dead_remover_left_half_way_is_taken_up():
    clock = [1_000]
    store = MemoryStore(lambda: clock[0])
    await store.blobs.hold(["a" * 64])
    clock[0] += 10
    assert list((await store.blobs.take(1, 10)).digests) == ["a" * 64]
    assert list((await store.blobs.take(1, 10)).digests) == []
    clock[0] += REMOVAL_MS
    assert list((await store.blobs.take(1, 10)).digests) == ["a" * 64]


async def test_after_many_jobs_redis_and_the_directory_are_where_they_were(redis_url, tmp_path):
    store = RedisStore(connect(redis_url))
    house, blobs = House(store), DirectoryBlobs(tmp_path)
    day = keys.numbers(TENANT, day_of(await store.now()))
    constant = {b"fettle:counts", b"fettle:changes", day.encode()}
    for number in range(40):
        digest = await put(store, blobs, b"%d" % (number % 30))
        await succeeded(house, digest, labels=(f"l{number % 3}",))
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 30
    while await remove_finished(store, Checkpoints().forget, Retention(-1, -1, batch=7)):
        pass
    while await remove_loose(store, blobs, Retention(-1, -1, batch=7)):
        pass
    while await store.words.index():  # what has gone is passed over
        pass
    assert set(await store.redis.keys("*")) <= constant
    assert await store.redis.ttl(day) > 0
    assert not any(path.is_file() for path in tmp_path.rglob("*"))
    assert set((await store.redis.hgetall("fettle:counts")).values()) == {b"0"}
    await store.close()
