"""HEAD: every route that answers GET answers HEAD, with the same head and without a body."""

from __future__ import annotations

import asyncio
import re

import httpx
import pytest
from support.pages.api_front import settings_for, started
from support.pages.pages_browser import visiting

from api.app import ROUTES

SAME_APART_FROM = {"x-request-id", "date", "set-cookie"}
STREAMS = {"/jobs/{job_id}/events", "/jobs/{job_id}/files.tar.gz", "/app/jobs/{job_id}/live",
           "/app/jobs/{job_id}/files.tar.gz"}  # fmt: skip
"""Routes with answers that have no length."""

ELSEWHERE = {
    "/", "/app/", "/app/sign-in", "/app/sign-in/{token}", "/app/static/{digest}/{name}", "/compare",
    "/app/stats/{table}.csv", "/app/jobs/{job_id}/timeline", "/app/jobs/{job_id}/view",
    "/app/jobs/{job_id}/context", "/app/jobs/{job_id}/changes/picture",
    "/app/benchmarks/{job_id}", "/app/benchmarks/compare",
    *(f"{base}/jobs/{{job_id}}/{path}" for base in ("", "/app")
      for path in ("repairs/{run}/diff", "recording", "files/{path:path}")),
}  # fmt: skip
"""Paths that answer this test with a redirect or a refusal, for GET and HEAD alike."""


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def paths(routes, prefix: str = "") -> list[str]:
    """Every path that answers GET, also of routers in routers."""
    all_paths = []
    for route in routes:
        if hasattr(route, "original_router"):
            inner = prefix + route.include_context.prefix
            all_paths += paths(route.original_router.routes, inner)
        elif "GET" in route.methods:
            all_paths.append(prefix + route.path)
    return all_paths


def read(path: str, job_id: str, name: str, batch_id: str) -> str:
    values = {
        "batch_id": batch_id,
        "job_id": job_id,
        "conversation_id": job_id,
        "number": "1",
        "part": "stdout",
        "name": name,
        "run": "run-1",
    }
    path = path.replace("/problems/{name}", "/problems/not-found")
    return re.sub(r"\{(\w+)(:\w+)?\}", lambda found: values.get(found[1], "a"), path)


async def test_every_route_that_answers_get_answers_head(front):
    job_id = await front.patched(b"diff --git a/a b/a\n", is_ended=True)
    running = await front.submit()
    lease = await front.claim(running)
    artifact = await front.store_artifact("a.txt", b"abc", "text/plain")
    await front.run(lease, artifacts=[artifact])
    batch = await front.client.post("/jobs/batch", json={"jobs": [{"task": "add"}]})
    everything = [path for noun in ROUTES for path in paths(noun.router.routes)]
    assert len(everything) > 45
    served = set()
    async with visiting(front.app) as visit:
        for path in everything:
            client = visit.http if path.startswith("/app") or path == "/" else front.client
            for job in (job_id, running):
                url = read(path, job, artifact["name"], batch.json()["id"])
                if path in STREAMS and job == running and "tar" not in path:
                    head = await asyncio.wait_for(client.head(url), 20)  # a GET would not end
                    assert head.headers["content-type"].startswith("text/event-stream"), url
                    assert "content-length" not in head.headers
                    served.add(path)
                    continue
                get = await client.get(url)
                head = await asyncio.wait_for(client.head(url), 20)
                assert head.content == b"", url
                assert head.status_code == get.status_code, url
                assert described(head) == described(get), url
                if get.status_code == 200:
                    served.add(path)
    assert set(everything) - served <= ELSEWHERE


def described(answer: httpx.Response) -> dict[str, str]:
    """The headers to compare. Without a digest, a time in two answers may differ in length."""
    headers = {n: v for n, v in answer.headers.items() if n not in SAME_APART_FROM}
    if "etag" not in headers and "content-length" in headers:
        headers["content-length"] = "some"
    return headers


async def test_head_needs_a_key_and_a_known_path_as_get_does(front):
    assert (await front.client.head("/jobs", headers={"X-API-Key": "wrong"})).status_code == 401
    assert (await front.client.head("/jobs/nothing")).status_code == 404
    assert (await front.client.head("/nothing")).status_code == 404
    refused = await front.client.head("/jobs/nothing/cancel")
    assert (refused.status_code, refused.headers["allow"]) == (405, "POST")
