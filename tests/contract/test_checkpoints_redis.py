"""The promises of the saver beyond LangGraph's conformance suite, on a real server."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from support.graph.checkpoint_savers import ListingSaver, unfenced
from support.graph.planted import planted_extensions

from agents.errors import StateUnreadable

ODD_THREADS = ["", "a", "a:", "a:b", "a::b", "%3A", "ü\0\n {}*", "x" * 500]
ODD_NAMESPACES = ["", "b", "a:1|b:2", "a:1|b", "a", ":", "%3A", "\0", "ü x"]


class Writes:
    """An unfenced `Write`, until it is `refusing`."""

    def __init__(self, redis):
        self._write = unfenced(redis)
        self.refusing = False

    async def __call__(self, commands):
        if self.refusing:
            raise PermissionError
        await self._write(commands)


@pytest.fixture
def client(store):
    return store.redis


@pytest.fixture
def writes(client):
    return Writes(client)


@pytest.fixture
def saver(client, writes):
    return ListingSaver(client, writes)


def config_at(thread_id="job", namespace="", checkpoint_id=None):
    configurable = {"thread_id": thread_id, "checkpoint_ns": namespace}
    return {
        "configurable": configurable | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})
    }


async def put(saver, config, values=(), *, new=None, versions=None, **metadata):
    """Save a checkpoint. `versions` is "1" for each value by default; `new` names the new values
    (by default all)."""
    versions = versions or dict.fromkeys(values, "1")
    checkpoint = empty_checkpoint() | {
        "channel_values": dict(values),
        "channel_versions": versions,
    }
    fresh = {name: version for name, version in versions.items() if new is None or name in new}
    return await saver.aput(config, checkpoint, {"source": "loop", "step": 1, **metadata}, fresh)


async def everything(saver, config=None):
    return [checkpoint async for checkpoint in saver.alist(config or config_at())]


# Keys


async def test_threads_and_namespaces_are_not_confused(saver, client):
    threads = [(thread, namespace) for thread in ODD_THREADS for namespace in ODD_NAMESPACES]
    for number, (thread, namespace) in enumerate(threads):
        stored = await put(saver, config_at(thread, namespace), {"n": number})
        await saver.aput_writes(stored, [("n", number)], "task:1")

    for number, (thread, namespace) in enumerate(threads):
        (only,) = await everything(saver, config_at(thread, namespace))
        newest = await saver.aget_tuple(config_at(thread, namespace))
        assert only == newest
        assert only.config == config_at(thread, namespace, only.checkpoint["id"])
        assert only.checkpoint["channel_values"] == {"n": number}
        assert only.pending_writes == [("task:1", "n", number)]

    for deleted_count, thread in enumerate(ODD_THREADS, start=1):
        await saver.adelete_thread(thread)
        remaining = [
            await everything(saver, {"configurable": {"thread_id": t}}) for t in ODD_THREADS
        ]
        assert sum(map(len, remaining)) == (len(ODD_THREADS) - deleted_count) * len(ODD_NAMESPACES)
    assert await client.dbsize() == 0


# Round trips and refusals


async def test_a_fenced_write_is_not_stored_and_raises(saver, writes, client):
    stored = await put(saver, config_at(), {"a": 1})
    before = await everything(saver)
    writes.refusing = True
    with pytest.raises(PermissionError):
        await put(saver, stored, {"a": 2}, versions={"a": "2"})
    with pytest.raises(PermissionError):
        await saver.aput_writes(stored, [("a", 2)], "task")
    with pytest.raises(PermissionError):
        await saver.adelete_thread("job")
    assert await everything(saver) == before


async def test_a_restarted_server_without_the_scripts_is_used(saver, client):
    await put(saver, config_at(), {"a": 1})
    await saver.aget_tuple(config_at())
    await client.script_flush()
    assert (await saver.aget_tuple(config_at())).checkpoint["channel_values"] == {"a": 1}


# Pending writes in either order (langgraph #8039)


async def test_writes_that_come_before_their_checkpoint_wait_for_it(saver):
    first = await put(saver, config_at(), {"a": 1})
    checkpoint = empty_checkpoint() | {"channel_versions": {}}
    await saver.aput_writes(config_at(checkpoint_id=checkpoint["id"]), [("a", 2)], "task")

    assert (await saver.aget_tuple(config_at())).config == first
    assert await saver.aget_tuple(config_at(checkpoint_id=checkpoint["id"])) is None
    assert len(await everything(saver, config_at())) == 1

    await saver.aput(first, checkpoint, {"source": "loop", "step": 1}, {})
    newest = await saver.aget_tuple(config_at())
    assert newest.parent_config == first
    assert newest.pending_writes == [("task", "a", 2)]


async def test_writes_that_come_after_the_next_checkpoint_stay_with_their_own(saver):
    first = await put(saver, config_at(), {"a": 1})
    second = await put(saver, first, {"a": 1}, new=())
    await saver.aput_writes(first, [("a", 2)], "late")
    newest = await saver.aget_tuple(config_at())
    assert (newest.config, newest.pending_writes) == (second, [])
    assert (await saver.aget_tuple(first)).pending_writes == [("late", "a", 2)]


async def test_writes_keep_their_first_value_and_marks_their_last(saver):
    stored = await put(saver, config_at())
    await saver.aput_writes(stored, [("a", "first"), ("__interrupt__", "first")], "task")
    await saver.aput_writes(stored, [("a", "again"), ("__interrupt__", "again")], "task")
    checkpoint = await saver.aget_tuple(stored)
    assert set(checkpoint.pending_writes) == {
        ("task", "a", "first"),
        ("task", "__interrupt__", "again"),
    }


# Values


@pytest.mark.parametrize("value", [None, b"\0 raw \xff", bytearray(b"x"), "", {"a": [1, [2]]}, 0])
async def test_values_of_every_kind_are_restored(saver, value):
    stored = await put(saver, config_at(), {"odd channel: |@ ü": value})
    await saver.aput_writes(stored, [("odd channel: |@ ü", value)], "task", "~a, b:1")
    checkpoint = await saver.aget_tuple(stored)
    assert checkpoint.checkpoint["channel_values"] == {"odd channel: |@ ü": value}
    assert checkpoint.pending_writes == [("task", "odd channel: |@ ü", value)]


async def test_a_checkpoint_without_one_of_its_values_is_an_error(saver, client):
    await put(saver, config_at(), {"a": 1, "b": 2})
    await client.hdel("fettle:checkpoint:job:", "b@1")
    with pytest.raises(StateUnreadable, match="b@1"):
        await saver.aget_tuple(config_at())


@pytest.mark.parametrize("planted", planted_extensions(), ids=str)
@pytest.mark.parametrize("part", ["c", "m", "w", "value", "ancestor"])
async def test_a_call_that_a_checkpoint_names_is_not_made(saver, client, tmp_path, part, planted):
    marker = tmp_path / "marker"
    stored = b"msgpack " + planted.bytes_for(marker)
    first = await put(saver, config_at(), {"a": 1}, step=1)
    await saver.aput_writes(first, [("a", 2)], "task")
    newest = await put(saver, first, {"b": 1}, step=2)
    of_part = {"c": b"c", "m": b"m", "w": b"w:task:0", "ancestor": b"w:task:0"}
    if part == "value":
        await client.hset("fettle:checkpoint:job:", "a@1", stored)
    else:
        key = f"fettle:checkpoint:job::{first['configurable']['checkpoint_id']}"
        value = stored if part in "cm" else b"a %7E " + stored
        assert await client.hset(key, of_part[part], value) == 0
    ancestors = part == "ancestor"
    reading = (
        saver.aget_delta_channel_history(config=newest, channels=["a"])
        if ancestors
        else saver.aget_tuple(first)
    )
    with pytest.raises(StateUnreadable, match="ancestors of" if ancestors else "^checkpoint "):
        await reading
    assert not marker.exists()


# Delta channels


def append(state, batches):
    return [*state, *(item for batch in batches for item in batch)]


def delta_graph(saver, snapshot_frequency=1000):
    log = Annotated[list[int], DeltaChannel(append, snapshot_frequency=snapshot_frequency)]
    # Not a class: the annotations in this file are strings and cannot see `log`.
    state = TypedDict("state", {"log": log, "total": Annotated[int, operator.add]})  # noqa: UP013

    def step(state):
        return {"log": [len(state["log"])], "total": 1}

    builder = StateGraph(state)
    builder.add_node("step", step)
    builder.set_entry_point("step")
    builder.add_conditional_edges("step", lambda s: "step" if s["total"] % 10 else "__end__")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("frequency", [1, 3, 1000])
async def test_delta_channels_are_rebuilt_as_the_memory_saver_does(saver, frequency):
    histories = []
    for checkpointer in (saver, InMemorySaver()):
        graph = delta_graph(checkpointer, frequency)
        config = {"configurable": {"thread_id": "job"}}
        for _ in range(2):
            await graph.ainvoke({"log": [-1], "total": 0}, config, durability="sync")
        middle = [checkpoint async for checkpoint in graph.aget_state_history(config)][8]
        branch = await graph.aupdate_state(middle.config, {"log": [99], "total": 0})
        await graph.ainvoke(None, branch, durability="sync")
        histories.append([s.values async for s in graph.aget_state_history(config)])
    assert histories[0] == histories[1]
    assert len(histories[0][0]["log"]) > 10


async def test_a_copy_is_independent(saver):
    graph = delta_graph(saver)
    source = {"configurable": {"thread_id": "job"}}
    await graph.ainvoke({"log": [-1], "total": 0}, source, durability="sync")
    await saver.acopy_thread("job", "copy:1")
    values = (await graph.aget_state(source)).values
    await saver.adelete_thread("job")
    copy = {"configurable": {"thread_id": "copy:1"}}
    assert (await graph.aget_state(copy)).values == values
    await graph.ainvoke({"log": [-2], "total": 0}, copy, durability="sync")
    assert len((await graph.aget_state(copy)).values["log"]) == len(values["log"]) + 11
