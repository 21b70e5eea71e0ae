"""The critic's tools: they read the job's files and run programs over copies of them.

The bodies are the executor's own, but for `run_again`. Each call is made once, like the executor's
calls, and none changes the workspace.

Why: docs/decisions/0082-a-critic-that-looks.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langgraph.prebuilt import ToolRuntime

from agents.attempt import Ports
from agents.calls.call_key import digest
from agents.calls.journal import finished_call, journaled
from agents.critic.run_again import run_again
from agents.errors import ToolRefused
from agents.evidence.verdict import CRITIC
from agents.models.replies.structured import ToolSchema, tool_schema
from agents.ports import CallKey, Event, Finished
from agents.state import State
from agents.tools.call import argument_problem, refused
from agents.tools.file_tools import read_file
from agents.tools.git import git
from agents.tools.registry import Body, arguments_of, offered
from agents.tools.search import search

TOOLS: tuple[Body, ...] = (read_file, search, git, run_again)
"""In the order in which the model sees them, after `Verdict`."""


def critic_tools(ports: Ports) -> Mapping[str, Body]:
    """The tools of a job's critic, by name. Empty if the operator allows no calls."""
    if not ports.bounds.critic_calls:
        return {}
    return {body.__name__: body for body in TOOLS if offered(body.__name__, ports)}


def schemas_of(tools: Mapping[str, Body]) -> Sequence[ToolSchema]:
    """The tools as requests have them."""
    return [tool_schema(arguments_of(body)) for body in tools.values()]


async def call_tool(
    call: ToolCall, reply: AIMessage, state: State, ports: Ports, at: CallKey
) -> ToolMessage:
    """The answer to one call of `reply`, made now or before a crash. `at` is the call's own key."""

    async def make() -> tuple[ToolMessage, Finished]:
        message = await _answer(call, reply, state, ports)
        trace = message.artifact
        event = Event(at, trace["kind"], {**trace["data"], "by": CRITIC})
        return message, finished_call(message, events=[event])

    return await journaled(ports, at.key(digest(call["name"], call["args"])), make)


async def _answer(call: ToolCall, reply: AIMessage, state: State, ports: Ports) -> ToolMessage:
    tools = critic_tools(ports)
    body = tools.get(call["name"])
    if body is None:
        return refused(call, f"there is no tool {call['name']}; use {', '.join(tools)}")
    arguments = arguments_of(body)
    if why := argument_problem(call, arguments, reply):
        return refused(call, why)
    given = arguments.model_validate(call["args"])
    values = {name: getattr(given, name) for name in arguments.model_fields}
    try:
        text, trace = await body(**values, runtime=_runtime(state, ports, call))
    except ToolRefused as error:
        return refused(call, str(error))
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], artifact=trace)


def _runtime(state: State, ports: Ports, call: ToolCall) -> ToolRuntime[Any, Any]:
    """The runtime of a tool's body outside LangChain's loop."""
    return ToolRuntime(
        state=cast("dict[str, Any]", state),
        context=ports,
        config={},
        stream_writer=lambda _: None,
        tool_call_id=call["id"],
        store=None,
    )
