"""The index of words in a real Redis: filled after submissions; emptied."""

from __future__ import annotations

import pytest
from support.jobs.job_examples import TENANT, JobService, job

from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.retention import Retention, remove_finished
from jobs.store.redis_store import RedisStore, connect


@pytest.fixture
async def service(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    yield JobService(store)
    await store.close()


async def search(service, text: str) -> set[str]:
    page = await service.store.page(TENANT, limit=500, offset=0, text=text)
    return {record.id for record in page.records}


async def test_no_index_entry_of_a_removed_job_remains(service):
    remaining = (await service.submit("sort a list")).id
    removed = [(await service.submit("sort a tuple", labels=("x",))).id for _ in range(2)]
    assert await search(service, "sort") == {remaining, *removed}
    late = (await service.submit("sort late")).id
    for job_id in (*removed, late):
        job(await service.operations.cancel(job_id, "ann"))
    assert await remove_finished(service.store, Retention(-60_000, 0)) == 3
    assert await search(service, "sort") == {remaining}
    words = set(await service.store.redis.zrange(keys.words(TENANT), 0, -1))
    assert words == {remaining.encode(), b"sort", b"a", b"list"}
    word_keys = [name async for name in service.store.redis.scan_iter(keys.word(TENANT, "*"))]
    assert len(word_keys) == len(words)
    assert not await service.store.redis.exists(JobKeys(late).record)
