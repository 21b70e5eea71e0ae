"""The index of words in a real Redis: filled behind submissions, for older jobs too; emptied."""

from __future__ import annotations

import pytest
from support.jobs.job_examples import TENANT, House, job

from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention, remove_finished
from jobs.store.redis_store import RedisStore, connect
from worker.background.search_index import adopt


@pytest.fixture
async def house(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    yield House(store)
    await store.close()


async def found(house, text: str) -> set[str]:
    page = await house.store.page(TENANT, limit=500, offset=0, text=text)
    return {record.id for record in page.records}


async def test_a_job_of_an_older_release_is_found_once_it_was_adopted(house):
    redis, store = house.store.redis, house.store
    made = {(await house.submit(f"old job {number}")).id for number in range(150)}
    ended = [job_id for job_id in made if hash(job_id) % 2]
    for job_id in ended:
        job(await house.operations.cancel(job_id, "ann"))
    await redis.delete(keys.UNINDEXED)  # an older release has not put them there
    assert await found(house, "old") == set()
    await adopt(store)
    while await store.words.index():
        pass
    assert await found(house, "old job") == made
    await adopt(store)
    assert await redis.llen(keys.UNINDEXED) == 0, "what is known is not entered again"


async def test_nothing_is_left_of_a_job_that_was_removed(house):
    kept = (await house.submit("sort a list")).id
    gone = [(await house.submit("sort a tuple", labels=("x",))).id for _ in range(2)]
    assert await found(house, "sort") == {kept, *gone}
    late = (await house.submit("sort late")).id
    for job_id in (*gone, late):
        job(await house.operations.cancel(job_id, "ann"))
    assert await remove_finished(house.store, Retention(-60_000, 0)) == 3
    assert await found(house, "sort") == {kept}
    words = set(await house.store.redis.zrange(keys.words(TENANT), 0, -1))
    assert words == {kept.encode(), b"sort", b"a", b"list"}
    left = [name async for name in house.store.redis.scan_iter(keys.word(TENANT, "*"))]
    assert len(left) == len(words)
    assert not await house.store.redis.exists(JobKeys(late).record)


async def test_a_search_waits_for_no_worker(house):
    made = {(await house.submit("a fresh one")).id for _ in range(3)}
    assert await house.store.redis.llen(keys.UNINDEXED) == 3
    assert await found(house, "fresh") == made
