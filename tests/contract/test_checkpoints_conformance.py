"""LangGraph's own conformance suite for what is called in production, on each kind of Redis."""

from __future__ import annotations

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate
from redis.asyncio import Redis
from support.graph.checkpoint_savers import ListingSaver, unfenced
from support.servers import redis_servers

CALLED = {"put", "put_writes", "get_tuple", "delete_thread", "copy_thread"}


@pytest.fixture(params=sorted(redis_servers.binaries()))
def server(request, tmp_path):
    with redis_servers.start(redis_servers.binaries()[request.param], tmp_path) as running:
        yield running


async def test_the_saver_passes_the_conformance_suite(server):
    async with Redis.from_url(server.url) as client:

        @checkpointer_test(name="RedisSaver")
        async def saver():
            yield ListingSaver(client, unfenced(client))

        report = await validate(saver, capabilities=CALLED)
    results = {name: report.results[name] for name in CALLED}
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert all(result.passed and result.tests_passed for result in results.values())
