"""Graphs over the saver: order of saves, a fence that refuses, an agent loop that grows."""

from __future__ import annotations

import asyncio
import operator
from itertools import count
from typing import Annotated, TypedDict

import pytest
from langchain.agents import AgentState, create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer
from redis.asyncio import Redis
from support.graph.checkpoint_savers import ListingSaver, unfenced
from support.servers import redis_servers

from worker.checkpoints import RedisSaver

OUTPUT = 20_000


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    binary = next(iter(redis_servers.binaries().values()))
    with redis_servers.start(binary, tmp_path_factory.mktemp("redis")) as running:
        yield running


@pytest.fixture
async def client(server):
    async with Redis.from_url(server.url) as connected:
        await connected.flushall()
        yield connected


class Disturbed:
    """A `Write` that holds up or refuses one kind of save: `checkpoint`, `writes` or `any`."""

    def __init__(self, redis, kind, *, refuse_after=None):
        self._write = unfenced(redis)
        self._kind = kind
        self._seen = count(1)
        self._refuse_after = refuse_after

    async def __call__(self, thread_id, commands):
        kind = "checkpoint" if any("c" in command for command in commands) else "writes"
        if self._kind in (kind, "any"):
            if self._refuse_after is None:
                await asyncio.sleep(0.02)
            elif next(self._seen) > self._refuse_after:
                raise PermissionError(thread_id)
        await self._write(thread_id, commands)


class State(TypedDict):
    log: Annotated[list[int], operator.add]


def counting_graph(saver, ran, steps=3):
    def step(state):
        ran.append(len(state["log"]))
        return {"log": [len(state["log"])]}

    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda s: "step" if len(s["log"]) < steps else "__end__")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("held_up", ["checkpoint", "writes"])
async def test_a_graph_is_kept_whole_in_either_order_of_saves(client, held_up):
    ran = []
    graph = counting_graph(ListingSaver(client, Disturbed(client, held_up)), ran)
    config = {"configurable": {"thread_id": "job"}}
    await graph.ainvoke({"log": []}, config, durability="sync")
    history = [state async for state in graph.aget_state_history(config)]
    assert [state.values.get("log") for state in history] == [[0, 1, 2], [0, 1], [0], [], []]
    written = [task.result for state in reversed(history) for task in state.tasks]
    assert written[1:] == [{"log": [0]}, {"log": [1]}, {"log": [2]}]
    assert ran == [0, 1, 2]


@pytest.mark.parametrize(
    ("refused", "after", "repeated"),
    [
        ("checkpoint", 3, []),  # the step's writes are on record
        ("writes", 2, []),  # the checkpoint behind the step is on record
        ("any", 5, [1]),  # neither is
    ],
)
async def test_after_a_refused_save_the_next_worker_goes_on_from_what_was_saved(
    client, refused, after, repeated
):
    # Saves come in pairs, of a step's writes and of the checkpoint behind it; first the input's.
    config = {"configurable": {"thread_id": "job"}}
    lost = Disturbed(client, refused, refuse_after=after)
    first, second = [], []
    with pytest.raises(PermissionError):
        await counting_graph(RedisSaver(client, lost), first).ainvoke(
            {"log": []}, config, durability="sync"
        )
    healthy = counting_graph(RedisSaver(client, unfenced(client)), second)
    state = await healthy.ainvoke(None, config, durability="sync")
    assert state == {"log": [0, 1, 2]}
    assert [step for step in second if step in first] == repeated


# An agent's loop


class AgentMessages(AgentState):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


class CallsTool(BaseChatModel):
    """Asks for the tool until it has had `calls` results."""

    calls: int

    @property
    def _llm_type(self):
        return "calls-tool"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        done = sum(isinstance(message, ToolMessage) for message in messages)
        reply = AIMessage(f"done after {done}")
        if done < self.calls:
            call = {"name": "read", "args": {"n": done}, "id": f"call-{done}"}
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def read(n: int) -> str:
    """A tool with much to say."""
    return f"{n}" * (OUTPUT // len(f"{n}"))


async def stored_bytes(client):
    """Bytes in memory, over all keys."""
    sizes = [await client.memory_usage(key, samples=0) for key in await client.keys()]
    return sum(sizes)


async def agent_costs(client, calls):
    """Bytes per tool call, held and written to the log, of an agent inside a node."""
    await client.flushall()
    before = (await client.info("persistence"))["aof_current_size"]
    agent = create_agent(CallsTool(calls=calls), [read], state_schema=AgentMessages)

    async def execute(state, config):
        answer = await agent.ainvoke({"messages": [("user", "go")]}, config)
        return {"log": [len(answer["messages"])]}

    builder = StateGraph(State)
    builder.add_node("execute", execute)
    builder.add_edge(START, "execute")
    graph = builder.compile(checkpointer=RedisSaver(client, unfenced(client)))
    config = {"configurable": {"thread_id": "job"}, "recursion_limit": 1000}
    state = await graph.ainvoke({"log": []}, config, durability="sync")
    assert state["log"] == [2 + 2 * calls]
    written = (await client.info("persistence"))["aof_current_size"] - before
    return await stored_bytes(client) / calls, written / calls


async def test_an_agent_loop_grows_with_its_calls_and_not_with_their_square(client):
    held_10, written_10 = await agent_costs(client, 10)
    held_40, written_40 = await agent_costs(client, 40)
    assert held_40 / held_10 <= 1.3
    assert written_40 / written_10 <= 1.3
    assert OUTPUT < written_40 < 2 * OUTPUT
