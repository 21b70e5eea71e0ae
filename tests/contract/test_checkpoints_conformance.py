"""LangGraph's conformance suite for the methods that production calls, on each kind of Redis."""

from __future__ import annotations

from langgraph.checkpoint.conformance import checkpointer_test, validate
from support.graph.checkpoint_savers import ListingSaver, unfenced

CALLED = {"put", "put_writes", "get_tuple", "delete_thread", "copy_thread"}


async def test_the_saver_passes_the_conformance_suite(store):
    @checkpointer_test(name="RedisSaver")
    async def saver():
        yield ListingSaver(store.redis, unfenced(store.redis))

    report = await validate(saver, capabilities=CALLED)
    results = {name: report.results[name] for name in CALLED}
    assert {name: result.failures for name, result in results.items() if result.failures} == {}
    assert all(result.passed and result.tests_passed for result in results.values())
