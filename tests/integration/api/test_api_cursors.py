"""Cursors: the pages of a list stay in place while jobs arrive, change and go."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from support.pages.api_front import settings_for, started

from jobs.redis import keys
from jobs.redis.keys import JobKeys
from jobs.store import Cursor
from jobs.store.listing import Listing, SearchBounds

REJECT = {"action": "reject", "feedback": "no"}


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def rows(front, path: str, between=None, field: str = "jobs") -> list[str]:
    """The rows of all pages, with a call of `between` after each page."""
    listed, next_path = [], path
    for number in itertools.count():
        answer = await front.client.get(next_path)
        assert answer.status_code == 200, answer.text
        page = answer.json()
        assert page["offset"] == len(listed)
        listed += [row.get("id") or row["job_id"] for row in page[field]]
        if page["next"] is None:
            break
        next_path = f"{path}&cursor={page['next']}"
        assert number < 50, "the pages do not end"
        if between is not None:
            await between(listed[-1])
    return listed


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("/jobs?limit=3", -1),
        ("/jobs?limit=3&sort=oldest", 1),
        ("/jobs?limit=3&status=queued", -1),
        ("/jobs?limit=3&label=x&person=development", -1),
        ("/jobs?limit=3&text=add&sort=oldest", 1),
        ("/jobs?limit=3&from=2020-01-01T00:00:00Z", -1),
        ("/conversations?limit=3", -1),
    ],
)
async def test_each_job_is_listed_once_while_the_list_changes(front, query, order):
    # many of them have the same time, to the millisecond
    ids = await asyncio.gather(*(front.submit(labels=["x"]) for _ in range(11)))
    before = await rows(front, query)
    assert sorted(before) == sorted(ids)

    async def change_the_list(last_id: str) -> None:
        await front.submit(labels=["x"])
        await front.client.post(f"/jobs/{last_id}/cancel")  # it leaves the list of queued jobs

    listed = await rows(front, query, change_the_list)
    assert listed[:11] == before
    assert len(set(listed)) == len(listed)
    assert (len(listed) == 11) is (order < 0), "jobs that arrive come before the newest, or last"


async def test_a_removed_job_loses_no_other(front):
    ids = [await front.submit() for _ in range(7)]

    async def remove(last_id: str) -> None:
        await front.client.post(f"/jobs/{last_id}/cancel")
        assert (await front.client.delete(f"/jobs/{last_id}")).status_code == 204

    assert await rows(front, "/jobs?limit=2", remove) == ids[::-1]


async def test_an_inbox_and_its_decisions_have_cursors(front):
    ids = [await front.paused(f"r{number}") for number in range(5)]
    assert await rows(front, "/jobs?limit=2&waiting=me") == ids
    for job_id in ids:
        answer = await front.client.post(f"/jobs/{job_id}/review", json=REJECT)
        assert answer.status_code == 202, answer.text
    assert await rows(front, "/decisions?limit=2", field="decisions") == ids
    redis, log = front.services.store.redis, keys.decisions("default")
    times = await redis.zrange(log, 0, -1, withscores=True)
    await redis.zadd(log, {member: times[0][1] for member, _ in times})
    assert await rows(front, "/decisions?limit=2", field="decisions") == sorted(ids)
    await redis.zadd(log, dict(times))
    table = await front.client.get("/decisions?limit=2&format=csv")
    cursor = table.headers["x-next-cursor"]
    table = await front.client.get(f"/decisions?format=csv&cursor={cursor}")
    assert [line.split(",")[1] for line in table.text.splitlines()[1:]] == ids[2:]
    assert "x-next-cursor" not in table.headers


async def test_a_cursor_continues_a_search_that_has_reached_its_bound(front):
    for number in range(40):  # one job has the label and the word
        await front.submit(
            "add" if number < 20 else "sort", labels=["x"] * (number in (0, *range(20, 40)))
        )
    listing = Listing(front.services.store.redis, SearchBounds(lookups=8, counting_lookups=0))
    cursor, ids, calls = None, [], 0
    while calls == 0 or cursor is not None:
        page = await listing.page(
            "default", limit=5, offset=0, label="x", text="add", cursor=cursor
        )
        ids += [record.id for record in page.records]
        cursor, calls = page.next and Cursor.parse(str(page.next)), calls + 1
    assert (len(ids), calls > 1) == (1, True)


@pytest.mark.parametrize("filters", [{}, {"label": "x", "person": "development"}])
async def test_a_page_of_removed_jobs_has_a_next_page(front, filters):
    ids = [await front.submit(labels=["x"]) for _ in range(4)]
    store = front.services.store
    for job_id in ids[2:]:  # as if it were removed between the two reads of a page
        await store.redis.delete(JobKeys(job_id).record)
    page = await store.page("default", limit=2, offset=0, **filters)
    assert (page.records, page.next.count) == ([], 2)
    page = await store.page("default", limit=2, offset=0, cursor=page.next, **filters)
    assert ([record.id for record in page.records], page.next) == (ids[1::-1], None)


@pytest.mark.parametrize("path", ["/jobs", "/conversations", "/decisions"])
async def test_a_wrong_cursor_is_a_422_with_the_remedy(front, path):
    for query in ("cursor=abc", "cursor=%C3%A9", "cursor=" + "A" * 201, "cursor=&offset=0"):
        answer = await front.client.get(f"{path}?{query}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "cursor")
    await asyncio.gather(*(front.submit() for _ in range(3)))
    cursor = (await front.client.get("/jobs?limit=1")).json()["next"]
    answer = await front.client.get(f"{path}?offset=1&cursor={cursor}")
    assert answer.json()["errors"][0]["message"] == "send either a cursor or an offset"
