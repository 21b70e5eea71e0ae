"""The writes of an attempt: none under another attempt's epoch, and enough to continue from any
moment.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from support.graph.checkpoint_savers import unfenced
from support.jobs.job_examples import JobService

from jobs.redis.connection import RedisCommand
from jobs.store.redis_store import RedisStore, connect
from worker.checkpoints import RedisSaver
from worker.resumption import Begin, Continue, UnrecordedEnd, start_by_checkpoint
from worker.store import Patience


class Log(TypedDict, total=False):
    steps: Annotated[list[str], operator.add]


class Cut(Exception):
    """The point at which this worker dies."""


async def test_a_job_continues_from_any_write_that_a_crash_interrupted(redis_url: str) -> None:
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    save, writes_left = unfenced(store.redis), 0

    async def dying(commands: Sequence[RedisCommand]) -> None:
        nonlocal writes_left
        if writes_left == 0:
            raise Cut
        writes_left -= 1
        await save(commands)

    builder = StateGraph(Log).add_edge(START, "one").add_edge("one", "two").add_edge("two", END)
    for name in ("one", "two"):
        builder.add_node(name, lambda _, name=name: {"steps": [name]})
    graph = builder.compile(RedisSaver(store.redis, dying, Patience(30)))
    positions = set()
    for cut in range(12):
        job = await service.running()
        config = {"configurable": {"thread_id": job.id}}
        writes_left = cut
        try:
            await graph.ainvoke({"steps": []}, config, durability="sync")
        except Cut:
            positions.add(cut)
        writes_left = 100
        resumption_point = start_by_checkpoint(job, await graph.aget_state(config))
        match resumption_point:
            case Begin():
                state = await graph.ainvoke({"steps": []}, config, durability="sync")
            case Continue(feed):
                state = await graph.ainvoke(feed, config, durability="sync")
            case UnrecordedEnd(state):
                pass
        assert state["steps"] == ["one", "two"], (cut, resumption_point)
    assert len(positions) > 4
    assert 11 not in positions  # every write was interrupted once
    await store.close()
