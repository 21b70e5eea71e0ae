"""Web pages of other origins call the API if the operator lists their origins."""

from __future__ import annotations

import pytest
from support.pages.api_front import settings_for, started

TOOLS = "https://tools.example.org"
ALLOWED = "access-control-allow-origin"
PREFLIGHT = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,idempotency-key",
}


@pytest.fixture
async def front(redis_url, tmp_path):
    settings = settings_for(redis_url, tmp_path, cors_origins=f"{TOOLS},http://localhost:3000")
    async with started(settings) as front:
        yield front


async def test_a_listed_origin_may_call_the_api_with_a_key(front):
    headers = {"Origin": TOOLS, **PREFLIGHT}
    preflight = await front.client.options("/jobs", headers=headers)
    assert (preflight.status_code, preflight.headers[ALLOWED]) == (200, TOOLS)
    assert "idempotency-key" in preflight.headers["access-control-allow-headers"]
    answer = await front.client.get("/jobs", headers={"Origin": TOOLS})
    assert (answer.status_code, answer.headers[ALLOWED]) == (200, TOOLS)
    exposed = answer.headers["access-control-expose-headers"]
    assert {"Location", "Retry-After", "X-Request-Id"} <= set(exposed.split(", "))
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_page_can_read_each_error(front):
    for changed in ({"X-API-Key": "fettle_wrong"}, {"Host": "another.example"}):
        answer = await front.client.get("/jobs", headers={"Origin": TOOLS, **changed})
        assert answer.status_code in (401, 421)
        assert answer.headers[ALLOWED] == TOOLS


@pytest.mark.parametrize("origin", ["https://evil.example", "null", f"{TOOLS}.evil.example"])
async def test_no_other_origin_may(front, origin):
    preflight = await front.client.options("/jobs", headers={"Origin": origin, **PREFLIGHT})
    assert preflight.status_code == 400
    answer = await front.client.get("/jobs", headers={"Origin": origin})
    assert ALLOWED not in answer.headers


async def test_the_pages_allow_no_origin(front):
    for path in ("/app", "/app/sign-in", "/app/jobs"):
        answer = await front.client.get(path, headers={"Origin": TOOLS})
        assert ALLOWED not in answer.headers
        preflight = await front.client.options(path, headers={"Origin": TOOLS, **PREFLIGHT})
        assert ALLOWED not in preflight.headers


async def test_without_the_setting_no_origin_may(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        answer = await front.client.get("/jobs", headers={"Origin": TOOLS})
        assert (answer.status_code, ALLOWED in answer.headers) == (200, False)
