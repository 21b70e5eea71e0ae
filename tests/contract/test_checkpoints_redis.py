"""What the saver promises beyond LangGraph's conformance suite, on a real server."""

from __future__ import annotations

import operator
from typing import Annotated, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from redis.asyncio import Redis
from support.graph.checkpoint_savers import ListingSaver, unfenced
from support.servers import redis_servers

from worker.checkpoints import RedisSaver
from worker.checkpoints.errors import CheckpointUnreadable
from worker.checkpoints.reader import WALK

ODD_THREADS = ["", "a", "a:", "a:b", "a::b", "%3A", "ü\0\n {}*", "x" * 500]
ODD_NAMESPACES = ["", "b", "a:1|b:2", "a:1|b", "a", ":", "%3A", "\0", "ü x"]


class CountingRedis(Redis):
    """Counts the round trips that reads make."""

    round_trips = 0

    async def execute_command(self, *args, **options):
        self.round_trips += 1
        return await super().execute_command(*args, **options)


class Writes:
    """An unfenced `Write` that notes each call, or refuses it."""

    def __init__(self, redis):
        self._write = unfenced(redis)
        self.calls = []
        self.refusing = False

    async def __call__(self, thread_id, commands):
        if self.refusing:
            raise PermissionError(thread_id)
        self.calls.append((thread_id, list(commands)))
        await self._write(thread_id, commands)


@pytest.fixture(scope="module", params=sorted(redis_servers.binaries()))
def server(request, tmp_path_factory):
    binary = redis_servers.binaries()[request.param]
    with redis_servers.start(binary, tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
async def client(server):
    async with CountingRedis.from_url(server.url) as connected:
        await connected.flushall()
        connected.round_trips = 0
        yield connected


@pytest.fixture
def writes(client):
    return Writes(Redis(connection_pool=client.connection_pool))  # which is not counted


@pytest.fixture
def saver(client, writes):
    return ListingSaver(client, writes)


def place(thread_id="job", namespace="", checkpoint_id=None):
    configurable = {"thread_id": thread_id, "checkpoint_ns": namespace}
    return {
        "configurable": configurable | ({"checkpoint_id": checkpoint_id} if checkpoint_id else {})
    }


async def put(saver, config, values=(), *, new=None, versions=None, **metadata):
    """Save a checkpoint whose values have the versions given (1); those in `new` are new (all)."""
    versions = versions or dict.fromkeys(values, "1")
    checkpoint = empty_checkpoint() | {
        "channel_values": dict(values),
        "channel_versions": versions,
    }
    fresh = {name: version for name, version in versions.items() if new is None or name in new}
    return await saver.aput(config, checkpoint, {"source": "loop", **metadata}, fresh)


async def everything(saver, config=None):
    return [found async for found in saver.alist(config or place())]


# Keys


async def test_no_thread_or_namespace_is_taken_for_another(saver, client):
    places = [(thread, namespace) for thread in ODD_THREADS for namespace in ODD_NAMESPACES]
    for number, (thread, namespace) in enumerate(places):
        stored = await put(saver, place(thread, namespace), {"n": number})
        await saver.aput_writes(stored, [("n", number)], "task:1")

    for number, (thread, namespace) in enumerate(places):
        (only,) = await everything(saver, place(thread, namespace))
        newest = await saver.aget_tuple(place(thread, namespace))
        assert only == newest
        assert only.config == place(thread, namespace, only.checkpoint["id"])
        assert only.checkpoint["channel_values"] == {"n": number}
        assert only.pending_writes == [("task:1", "n", number)]

    for gone, thread in enumerate(ODD_THREADS, start=1):
        await saver.adelete_thread(thread)
        kept = [await everything(saver, {"configurable": {"thread_id": t}}) for t in ODD_THREADS]
        assert sum(map(len, kept)) == (len(ODD_THREADS) - gone) * len(ODD_NAMESPACES)
    assert await client.dbsize() == 0


async def test_deleting_leaves_no_key_of_values_and_lone_writes(saver, client):
    stored = await put(saver, place(), {"a": 1})
    await put(saver, place(namespace="sub:1"), {"a": 1})
    await saver.aput_writes(stored, [("a", 2)], "task")
    await saver.aput_writes(place(checkpoint_id="never-saved"), [("a", 2)], "task")
    await saver.adelete_thread("job")
    assert await client.keys() == []


async def test_a_long_thread_is_deleted_in_bounded_steps(saver, writes, client):
    async with client.pipeline(transaction=False) as pipeline:
        for number in range(2500):
            pipeline.hset(f"fettle:checkpoint:job::{number:04d}", "c", "x")
            pipeline.zadd("fettle:checkpoint:job", {f":{number:04d}": 0})
        for namespace in ("", "gone", "left"):
            pipeline.hset(f"fettle:checkpoint:job:{namespace}", "a@1", "x")
        pipeline.hset("fettle:checkpoint:job:left:1", "c", "x")
        pipeline.zadd("fettle:checkpoint:job", {"left:1": 0, "gone:1": 0})
        await pipeline.execute()
    await saver.adelete_thread("job")
    assert await client.keys() == []
    assert len(writes.calls) == 3


async def test_a_client_that_decodes_is_refused():
    async with Redis(decode_responses=True) as decoding:
        with pytest.raises(ValueError, match="decode_responses=False"):
            RedisSaver(decoding, unfenced(decoding))


# Round trips and refusals


async def test_each_save_is_one_write_and_each_read_one_round_trip(saver, writes, client):
    stored = await put(saver, place(), {"a": 1, "b": 2})
    await saver.aput_writes(stored, [("a", 1), ("b", 2), ("c", 3)], "task")
    assert [thread for thread, _ in writes.calls] == ["job", "job"]
    assert client.round_trips == 0

    await saver.aget_tuple(place())  # the first call may have to load the script
    client.round_trips = 0
    newest = await saver.aget_tuple(place())
    assert client.round_trips == 1
    assert await saver.aget_tuple(stored) == newest
    assert client.round_trips == 2
    assert newest.checkpoint["channel_values"] == {"a": 1, "b": 2}
    assert [channel for _, channel, _ in newest.pending_writes] == ["a", "b", "c"]


async def test_what_the_fence_refuses_is_not_stored_and_not_hidden(saver, writes, client):
    stored = await put(saver, place(), {"a": 1})
    before = await everything(saver)
    writes.refusing = True
    with pytest.raises(PermissionError):
        await put(saver, stored, {"a": 2}, versions={"a": "2"})
    with pytest.raises(PermissionError):
        await saver.aput_writes(stored, [("a", 2)], "task")
    with pytest.raises(PermissionError):
        await saver.adelete_thread("job")
    assert await everything(saver) == before


async def test_a_restarted_server_that_forgot_the_scripts_is_served(saver, client):
    await put(saver, place(), {"a": 1})
    await saver.aget_tuple(place())
    await client.script_flush()
    assert (await saver.aget_tuple(place())).checkpoint["channel_values"] == {"a": 1}


# Pending writes in either order (langgraph #8039)


async def test_writes_that_come_before_their_checkpoint_wait_for_it(saver):
    first = await put(saver, place(), {"a": 1})
    checkpoint = empty_checkpoint() | {"channel_versions": {}}
    await saver.aput_writes(place(checkpoint_id=checkpoint["id"]), [("a", 2)], "task")

    assert (await saver.aget_tuple(place())).config == first
    assert await saver.aget_tuple(place(checkpoint_id=checkpoint["id"])) is None
    assert len(await everything(saver, place())) == 1

    await saver.aput(first, checkpoint, {"source": "loop"}, {})
    newest = await saver.aget_tuple(place())
    assert newest.parent_config == first
    assert newest.pending_writes == [("task", "a", 2)]


async def test_writes_that_come_after_the_next_checkpoint_stay_with_their_own(saver):
    first = await put(saver, place(), {"a": 1})
    second = await put(saver, first, {"a": 1}, new=())
    await saver.aput_writes(first, [("a", 2)], "late")
    newest = await saver.aget_tuple(place())
    assert (newest.config, newest.pending_writes) == (second, [])
    assert (await saver.aget_tuple(first)).pending_writes == [("late", "a", 2)]


async def test_many_lone_writes_do_not_hide_the_newest_checkpoint(saver):
    first = await put(saver, place(), {"a": 1})
    for _ in range(20):
        lone = place(checkpoint_id=empty_checkpoint()["id"])
        await saver.aput_writes(lone, [("a", 2)], "task")
    assert (await saver.aget_tuple(place())).config == first


async def test_writes_keep_their_first_value_and_marks_their_last(saver):
    stored = await put(saver, place())
    await saver.aput_writes(stored, [("a", "first"), ("__interrupt__", "first")], "task")
    await saver.aput_writes(stored, [("a", "again"), ("__interrupt__", "again")], "task")
    found = await saver.aget_tuple(stored)
    assert set(found.pending_writes) == {("task", "a", "first"), ("task", "__interrupt__", "again")}


async def test_writes_come_in_the_order_in_which_they_apply(saver):
    stored = await put(saver, place())
    await saver.aput_writes(stored, [("a", n) for n in range(12)], "task-1", "path b")
    await saver.aput_writes(stored, [("a", 20)], "task-2", "path a")
    await saver.aput_writes(stored, [("a", 30)], "task-3")
    values = [value for _, _, value in (await saver.aget_tuple(stored)).pending_writes]
    assert values == [30, 20, *range(12)]


# Values


async def test_a_value_that_does_not_change_is_stored_once(saver, client):
    big = "x" * 10_000
    config = await put(saver, place(), {"big": big, "n": 0})
    for step in range(1, 21):
        versions = {"big": "1", "n": str(step + 1)}
        config = await put(saver, config, {"big": big, "n": step}, new=["n"], versions=versions)
    stored = await client.hgetall("fettle:checkpoint:job:")
    assert sum(big.encode() in value for value in stored.values()) == 1
    held = [found.checkpoint["channel_values"] for found in await everything(saver, place())]
    assert held == [{"big": big, "n": step} for step in range(20, -1, -1)]


@pytest.mark.parametrize("value", [None, b"\0 raw \xff", bytearray(b"x"), "", {"a": [1, [2]]}, 0])
async def test_values_of_every_kind_come_back(saver, value):
    stored = await put(saver, place(), {"odd channel: |@ ü": value})
    await saver.aput_writes(stored, [("odd channel: |@ ü", value)], "task", "~a, b:1")
    found = await saver.aget_tuple(stored)
    assert found.checkpoint["channel_values"] == {"odd channel: |@ ü": value}
    assert found.pending_writes == [("task", "odd channel: |@ ü", value)]


def test_versions_sort_by_age_and_differ_between_branches():
    saver = RedisSaver(Redis(), unfenced(Redis()))
    versions = [saver.get_next_version(None, None)]
    for _ in range(1000):
        versions.append(saver.get_next_version(versions[-1], None))
    assert versions == sorted(versions)
    assert len({saver.get_next_version(versions[0], None) for _ in range(100)}) == 100


async def test_a_checkpoint_that_lost_a_value_is_an_error_and_not_a_state_with_a_hole(
    saver, client
):
    await put(saver, place(), {"a": 1, "b": 2})
    await client.hdel("fettle:checkpoint:job:", "b@1")
    with pytest.raises(CheckpointUnreadable, match="b@1"):
        await saver.aget_tuple(place())


# Delta channels


def append(state, batches):
    return [*state, *(item for batch in batches for item in batch)]


def delta_graph(saver, snapshot_frequency=1000):
    log = Annotated[list[int], DeltaChannel(append, snapshot_frequency=snapshot_frequency)]
    # Not as a class: its annotations are strings here, and cannot see `log`.
    state = TypedDict("State", {"log": log, "total": Annotated[int, operator.add]})  # noqa: UP013

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
    for each in (saver, InMemorySaver()):
        graph = delta_graph(each, frequency)
        config = {"configurable": {"thread_id": "job"}}
        for _ in range(2):
            await graph.ainvoke({"log": [-1], "total": 0}, config, durability="sync")
        middle = [found async for found in graph.aget_state_history(config)][8]
        branch = await graph.aupdate_state(middle.config, {"log": [99], "total": 0})
        await graph.ainvoke(None, branch, durability="sync")
        histories.append([s.values async for s in graph.aget_state_history(config)])
    assert histories[0] == histories[1]
    assert len(histories[0][0]["log"]) > 10


async def test_the_history_of_a_delta_channel_is_what_the_default_walk_finds(saver, client):
    config = place()
    for step in range(WALK + 20):
        values = {"seeded": ["seed"], "log": []} if step == 5 else {}
        config = await put(saver, config, values, step=step)
        await saver.aput_writes(config, [("seeded", [step]), ("log", [step]), ("x", 1)], "task")
    channels = ["seeded", "log", "never"]
    ours = await saver.aget_delta_channel_history(config=config, channels=channels)
    default = await BaseCheckpointSaver.aget_delta_channel_history(
        saver, config=config, channels=channels
    )
    newest = await saver.aget_delta_channel_history(config=place(), channels=channels)
    assert ours == default == newest
    assert ours["seeded"]["seed"] == ["seed"]
    assert ours["seeded"]["writes"][0] == ("task", "seeded", [5])
    assert len(ours["log"]["writes"]) == WALK + 14
    assert ours["never"] == {"writes": []}
    client.round_trips = 0
    await saver.aget_delta_channel_history(config=config, channels=["log"])
    assert client.round_trips == 2
    assert await saver.aget_delta_channel_history(config=place("none"), channels=["log"]) == {
        "log": {"writes": []}
    }


async def test_a_copy_stands_on_its_own(saver):
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
