"""Graphs over the saver: order of saves, a fence that refuses, an agent loop that grows."""

from __future__ import annotations

import operator
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
from support.graph.checkpoint_savers import unfenced
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


class State(TypedDict):
    log: Annotated[list[int], operator.add]


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
