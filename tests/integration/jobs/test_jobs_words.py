"""The index of words in a real Redis: filled behind submissions, for older jobs too; emptied."""

from __future__ import annotations

import pytest
from support.jobs.job_examples import TENANT, JobService, job

from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention, remove_finished
from jobs.store.redis_store import RedisStore, connect
from worker.background.search_index import adopt


@pytest.fixture
async def service(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    yield JobService(store)
    await store.close()


async def found(service, text: str) -> set[str]:
    page = await service.store.page(TENANT, limit=500, offset=0, text=text)
    return {record.id for record in page.records}


async def test_a_job_of_an_older_release_is_found_once_it_was_adopted(service):
    redis, store = service.store.redis, service.store
    made = {(await service.submit(f"old job {number}")).id for number in range(150)}
    ended = [job_id for job_id in made if hash(job_id) % 2]
    for job_id in ended:
        job(await service.operations.cancel(job_id, "ann"))
    await redis.delete(keys.UNINDEXED)  # an older release has not put them there
    assert await found(service, "old") == set()
    await adopt(store)
    while await store.words.index():
        pass
    assert await found(service, "old job") == made
    await adopt(store)
    assert await redis.llen(keys.UNINDEXED) == 0, "what is known is not entered again"


async def test_nothing_is_left_of_a_job_that_was_removed(service):
    kept = (await service.submit("sort a list")).id
    gone = [(await service.submit("sort a tuple", labels=("x",))).id for _ in range(2)]
    assert await found(service, "sort") == {kept, *gone}
    late = (await service.submit("sort late")).id
    for job_id in (*gone, late):
        job(await service.operations.cancel(job_id, "ann"))
    assert await remove_finished(service.store, Retention(-60_000, 0)) == 3
    assert await found(service, "sort") == {kept}
    words = set(await service.store.redis.zrange(keys.words(TENANT), 0, -1))
    assert words == {kept.encode(), b"sort", b"a", b"list"}
    left = [name async for name in service.store.redis.scan_iter(keys.word(TENANT, "*"))]
    assert len(left) == len(words)
    assert not await service.store.redis.exists(JobKeys(late).record)
