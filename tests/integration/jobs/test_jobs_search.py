"""A search in a real Redis uses many small calls and returns the same jobs as one large call."""

from __future__ import annotations

import random

import pytest
from support.jobs.job_examples import TENANT, JobService

from jobs.store import listing as store_listing
from jobs.store.listing import LOOKUPS_PER_CALL, Listing, SearchBounds
from jobs.store.redis_store import RedisStore, connect
from jobs.store.search import matches, words_of_search

WORDS = ("sort", "sorted", "sorter", "list", "listing", "tuple", "prime", "a")


@pytest.fixture
async def service(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    yield JobService(store)
    await store.close()


@pytest.fixture
def looks(service, monkeypatch) -> list[int]:
    """The number of jobs that each call to Redis has examined."""
    lookups: list[int] = []
    searched = Listing._find_in_turn

    async def find(self, args):
        answer = await searched(self, args)
        lookups.append(answer[0])
        return answer

    monkeypatch.setattr(Listing, "_find_in_turn", find)
    return lookups


async def index(service) -> None:
    while await service.store.words.index_new_jobs():
        pass


@pytest.mark.parametrize("a_call", [1, 40, LOOKUPS_PER_CALL])
async def test_small_calls_find_the_same_jobs_as_one_large_call(service, monkeypatch, a_call):
    monkeypatch.setattr(store_listing, "LOOKUPS_PER_CALL", a_call)
    choice = random.Random(7)
    records = [
        (await service.submit(" ".join(choice.sample(WORDS, 3)), labels=(choice.choice("xy"),)))
        for _ in range(60)
    ]
    await index(service)
    records.sort(key=lambda record: (record.created_at, record.id), reverse=True)
    for text in ("sort", "sor list", "sorted", "so li", "prime a", "sorter listing tuple"):
        for label in (None, "x"):
            fits = [
                record.id
                for record in records
                if matches(record, words_of_search(text)) and label in (None, *record.spec.labels)
            ]
            pages = [
                await service.store.page(TENANT, limit=7, offset=offset, text=text, label=label)
                for offset in range(0, 60, 7)
            ]
            assert [record.id for page in pages for record in page.records] == fits
            assert {(page.total, page.is_exact) for page in pages} == {(len(fits), True)}


async def test_the_work_of_one_call_and_of_one_search_is_limited(service, looks):
    for _ in range(300):
        await service.submit(" ".join(WORDS))
    await index(service)
    everything = "so sor sort sorte li lis list tu"
    page = await service.store.page(TENANT, limit=20, offset=0, text=everything)
    assert (page.total, page.is_exact) == (300, True)
    assert len(looks) > 1
    assert max(looks) <= 3 * LOOKUPS_PER_CALL
    looks.clear()
    store = Listing(service.store.redis, SearchBounds(lookups=2_000, counting_lookups=0))
    page = await store.page(TENANT, text=everything, limit=20, offset=0)
    assert (len(page.records), page.total, page.is_exact) == (20, 21, False)
    assert len(looks) == 1
    await store.page(TENANT, text=everything, limit=20, offset=1_000_000)
    assert sum(looks[1:]) <= 2_000 + 2 * LOOKUPS_PER_CALL, "however far the page is"
