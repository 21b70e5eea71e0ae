"""Two attempts at one job in one process: only the newer one's graph can save anything."""

from __future__ import annotations

import asyncio
from typing import TypedDict

import pytest
from job_examples import House, held
from langgraph.graph import END, START, StateGraph

from jobs.errors import StaleEpoch
from jobs.record import JobRecord
from jobs.redis_store import RedisStore, connect
from worker.checkpoints import RedisSaver
from worker.equipment import checkpoint
from worker.ledger import CURRENT, Ledger


class State(TypedDict, total=False):
    by: str


async def test_what_is_left_of_an_old_attempt_saves_nothing(redis_url: str) -> None:
    store = RedisStore(connect(redis_url))
    house = House(store)
    may_go, arrived = asyncio.Event(), asyncio.Event()

    async def node(state: State) -> State:
        if CURRENT.get().held.epoch == 1:
            arrived.set()
            await may_go.wait()
        return {"by": f"epoch {CURRENT.get().held.epoch}"}

    graph = (
        StateGraph(State)
        .add_node("node", node)
        .add_edge(START, "node")
        .add_edge("node", END)
        .compile(RedisSaver(store.redis, checkpoint))
    )

    async def attempt(record: JobRecord) -> State:
        CURRENT.set(Ledger(store, held(record), {}))
        config = {"configurable": {"thread_id": record.id}}
        return await graph.ainvoke({"by": "nobody"}, config, durability="sync")

    job = await house.running()
    old = asyncio.create_task(attempt(job))
    await arrived.wait()
    await house.operations.give_back(held(job), "")
    new = await asyncio.create_task(attempt(await house.claim(job.id)))
    may_go.set()
    with pytest.raises(StaleEpoch):
        await old
    saved = await graph.aget_state({"configurable": {"thread_id": job.id}})
    assert (new["by"], saved.values["by"]) == ("epoch 2", "epoch 2")
    await store.close()
