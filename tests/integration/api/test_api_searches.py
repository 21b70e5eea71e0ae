"""The limits of a key's concurrent searches and event streams. Other requests pass."""

from __future__ import annotations

import contextlib

import pytest
from support.pages.api_front import settings_for, started

from jobs.model.credentials import FIRST_ID

OF_A_KEY, OF_ALL = 4, 16
STREAMS = 500


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def _hold(front, stack: contextlib.ExitStack, key: str, count: int) -> None:
    for _ in range(count):
        stack.enter_context(front.services.searches.slot(key))


@pytest.mark.parametrize("query", ["text=add", "waiting=me", "status=queued&label=x"])
async def test_a_key_with_too_many_searches_in_progress_gets_a_429(front, query):
    await front.submit(labels=["x"])
    with contextlib.ExitStack() as stack:
        _hold(front, stack, FIRST_ID, OF_A_KEY)
        refused = await front.client.get(f"/jobs?{query}")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert refused.json()["type"] == "/problems/too-many-searches"
        for plain in ("/jobs", "/jobs?status=queued", "/jobs?label=x"):
            assert (await front.client.get(plain)).status_code == 200
    assert (await front.client.get(f"/jobs?{query}")).status_code == 200


async def test_if_other_keys_use_all_slots_a_search_gets_a_503(front):
    with contextlib.ExitStack() as stack:
        for number in range(OF_ALL // OF_A_KEY):
            _hold(front, stack, f"other {number}", OF_A_KEY)
        refused = await front.client.get("/jobs?text=add")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")
        assert (await front.client.get("/jobs")).status_code == 200
        assert (await front.client.post("/jobs", json={"task": "add"})).status_code == 202
    answer = (await front.client.get("/jobs?text=add")).json()
    assert (answer["total"], answer["total_exact"]) == (1, True)


async def test_a_key_with_too_many_streams_gets_no_more_until_one_ends(front):
    job_id = await front.submit()
    await front.finish(job_id)
    path = f"/jobs/{job_id}/events"
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS - 1):
            stack.enter_context(front.services.streams.hold(FIRST_ID))
        for _ in range(2):  # the stream ends after the final event, and frees its slot
            assert "event: succeeded" in (await front.client.get(path)).text
        stack.enter_context(front.services.streams.hold(FIRST_ID))
        refused = await front.client.get(path)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "10")
        listed = await front.client.get(path, headers={"Accept": "application/json"})
        assert listed.json()["final"]
    assert (await front.client.get(path)).status_code == 200


async def test_a_page_that_is_followed_counts_too(front):
    job_id = await front.submit()
    await front.finish(job_id)
    await front.client.post("/app/sign-in", data={"key": front.client.headers["X-API-Key"]})
    path = f"/app/jobs/{job_id}/live"
    assert "event: end" in (await front.client.get(path)).text
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS):
            stack.enter_context(front.services.streams.hold(FIRST_ID))
        assert (await front.client.get(path)).status_code == 429
    assert (await front.client.get(path)).status_code == 200
