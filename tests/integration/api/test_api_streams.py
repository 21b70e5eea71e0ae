"""Open event streams of a key are counted, those of programs and those of pages."""

from __future__ import annotations

import contextlib

import pytest
from support.pages.api_front import settings_for, started

from api.auth.caller import CONFIGURED_ID

OF_A_KEY = 500


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_a_key_with_too_many_streams_gets_no_more_until_one_ends(front):
    job_id = await front.submit()
    await front.finish(job_id)
    path = f"/jobs/{job_id}/events"
    with contextlib.ExitStack() as held:
        for _ in range(OF_A_KEY - 1):
            held.enter_context(front.services.streams.held(CONFIGURED_ID))
        for _ in range(2):  # it ends after the final event, and gives its slot back
            assert "event: succeeded" in (await front.client.get(path)).text
        held.enter_context(front.services.streams.held(CONFIGURED_ID))
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
    with contextlib.ExitStack() as held:
        for _ in range(OF_A_KEY):
            held.enter_context(front.services.streams.held(CONFIGURED_ID))
        assert (await front.client.get(path)).status_code == 429
    assert (await front.client.get(path)).status_code == 200
