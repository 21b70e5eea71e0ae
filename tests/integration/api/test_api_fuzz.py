"""No input leads to a 500."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.pages.api_front import settings_for, started

from api.schemas.job_request import JobRequest
from api.schemas.key import KeyRequest
from api.schemas.review import ReviewRequest

FUZZ = settings(
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["approve", "edit", "high", "groq:x", "a/../b", "\ud800", "read", "\0"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
PARTS = st.text(min_size=1, max_size=30) | st.sampled_from(["..", ".", "%00", "~", "a:b", "*"])


def bodies(model):
    """Bodies with Fettle's fields among other fields; some bodies are valid."""
    field_names = st.sampled_from(sorted(model.model_fields))
    return st.dictionaries(field_names | st.text(max_size=5), VALUES, max_size=8) | VALUES


async def answered(client, method, path, body=None):
    raw = json.dumps(body).encode("utf-8", "surrogatepass")
    headers = {"Content-Type": "application/json"}
    answer = await client.request(method, path, content=raw, headers=headers)
    assert answer.status_code < 500, (method, path, body, answer.text)
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"].startswith("/problems/")
    return answer


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, rate_limit="1000000/second")) as front:
        yield front


@FUZZ
@given(body=bodies(JobRequest), fields=st.fixed_dictionaries({"task": st.text(min_size=1)}))
async def test_jobs(front, body, fields):
    await answered(front.client, "POST", "/jobs", body)
    if isinstance(body, dict):
        answer = await answered(front.client, "POST", "/jobs", {**body, **fields})
        if answer.status_code == 202:
            await answered(front.client, "GET", answer.headers["location"])


@FUZZ
@given(body=bodies(ReviewRequest), key=bodies(KeyRequest))
async def test_reviews_and_keys(front, body, key):
    job_id = await front.paused()
    await answered(front.client, "POST", f"/jobs/{job_id}/review", body)
    await answered(front.client, "POST", "/keys", key)


@FUZZ
@given(part=PARTS, query=st.dictionaries(st.sampled_from(["limit", "offset", "label"]), PARTS))
async def test_paths_and_queries(front, part, query):
    job_id = await front.submit(files={"a": "b"})
    client, part = front.client, quote(part, safe="%~.:*")
    for path in ("files", "artifacts", "runs/1", "runs"):
        await answered(client, "GET", f"/jobs/{job_id}/{path}/{part}")
    await answered(client, "GET", f"/jobs/{part}")
    await answered(client, "DELETE", f"/keys/{part}")
    page = await client.get("/jobs", params=query)
    assert page.status_code in (200, 422)
