"""LangGraph's own conformance suite, on every Redis that can be had."""

from __future__ import annotations

import pytest
import redis_servers
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from redis.asyncio import Redis

from worker.checkpoints import RedisSaver, unfenced


@pytest.fixture(params=sorted(redis_servers.binaries()))
def server(request, tmp_path):
    with redis_servers.start(redis_servers.binaries()[request.param], tmp_path) as running:
        yield running


async def test_the_saver_passes_the_conformance_suite(server):
    async with Redis.from_url(server.url) as client:

        @checkpointer_test(name="RedisSaver")
        async def saver():
            yield RedisSaver(client, unfenced(client))

        report = await validate(saver)
    results = {
        capability.value: report.results[capability.value] for capability in ALL_CAPABILITIES
    }
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert all(result.passed and result.tests_passed for result in results.values())
