"""ToolCalls: around each call of a tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.types import Command

from agents.calls import finished, once
from agents.history import replies
from agents.middleware.models import MALFORMED
from agents.place import digest, within
from agents.ports import Fact, Finished, Place, Ports
from agents.tools.trace import Trace, of_use

FIRST_TOOL = 10
"""Offset of a reply's first tool call; the call of the model and its repair come before."""

Run = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


class ToolCalls(AgentMiddleware[AgentState[Any], Ports, Any]):
    """Makes each tool call once, and those of one reply in their order, one at a time."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Run) -> ToolMessage:
        """One tool call, with its trace in the message's artifact."""
        ports: Ports = cast("Ports", request.runtime.context)
        call = request.tool_call
        reply, index = _place(request)
        at = within(reply, 0, FIRST_TOOL + index)

        async def make() -> tuple[ToolMessage, Finished]:
            message = await _answer(request, handler)
            trace: Trace = message.artifact
            fact = Fact(at, trace["kind"], trace["data"])
            done = finished(message, facts=(fact,), workspace=ports.workspace.digest)
            return message, done

        async with ports.turn.of(reply.key(), index):
            return await once(ports, at.key(digest(call["name"], call["args"])), make)


def _place(request: ToolCallRequest) -> tuple[Place, int]:
    """The place of the reply that makes the call, and which of its calls it is, from 0."""
    messages = request.state["messages"]
    ids = [call["id"] for call in messages[-1].tool_calls]
    reply = within(Place(*request.state["outer"]), replies(messages))
    return reply, ids.index(request.tool_call["id"])


async def _answer(request: ToolCallRequest, handler: Run) -> ToolMessage:
    """The tool's answer; a call that never reached its tool gets a trace of its own."""
    call = request.tool_call
    if MALFORMED in call["args"]:
        message = ToolMessage(
            f"error: the arguments of {call['name']} were not valid JSON. Call it again.",
            name=call["name"],
            tool_call_id=call["id"],
            status="error",
        )
    else:
        answer = await handler(request)
        assert isinstance(answer, ToolMessage)  # noqa: S101 - no tool of ours answers a Command
        message = answer
    if message.artifact is None:
        message.artifact = of_use(call["name"], None, ok=False, note=str(message.text))
    elif not message.artifact["data"].get("ok", True):
        message.status = "error"
    return message
