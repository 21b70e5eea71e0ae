"""ToolCallMiddleware: wraps each tool call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import Command
from pydantic import BaseModel

from agents.attempt import Ports
from agents.calls.call_key import digest, for_call, for_reply
from agents.calls.journal import finished_call, journaled
from agents.errors import ToolRefused
from agents.executor.plan_progress import without_steps
from agents.history import Trace, replies, run_in
from agents.ports import CallKey, Event, Finished
from agents.prompts import render
from agents.repair.feedback import after_run, taken_over
from agents.tools.call import argument_problem, refused
from agents.tools.registry import offered
from agents.tools.server_tools import call_server
from agents.tools.trace import of_use

TOOL_CALL_OFFSET = 10
"""Ordinal of a reply's first tool call, relative to the reply; model calls have lower ordinals."""

REPLIES_ANNOUNCED = 4
"""A model with at most this number of remaining replies reads the number."""

CallHandler = Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]]


class ToolCallMiddleware(AgentMiddleware[AgentState[Any], Ports, Any]):
    """Makes each tool call once. The calls of one reply are made in their order, one at a time."""

    async def awrap_tool_call(self, request: ToolCallRequest, handler: CallHandler) -> ToolMessage:
        """One tool call, with its trace in the message's artifact."""
        ports: Ports = cast("Ports", request.runtime.context)
        call = request.tool_call
        reply_key, index = _reply_key_and_index(request)
        call_key = for_call(reply_key, 0, TOOL_CALL_OFFSET + index)

        async def make_call() -> tuple[ToolMessage, Finished]:
            message = await _answer(request, handler)
            trace: Trace = message.artifact
            events = [Event(call_key, trace["kind"], trace["data"])]
            answers = [*ports.sequencer.answers(reply_key.key()), message]
            texts = [str(message.text)]
            if (run := run_in(trace)) is not None:
                feedback = await after_run(run, request.state, answers, ports)
                texts.append(feedback.text)
                if feedback.repaired is not None:
                    events.append(Event(call_key, "repaired", feedback.repaired))
            if index == len(request.state["messages"][-1].tool_calls) - 1:
                texts += [taken_over(request.state, answers, ports), _remaining_replies(request)]
            message.content = "\n\n".join(filter(None, texts))
            finished = finished_call(message, events=events, workspace=ports.workspace.digest)
            return message, finished

        async with ports.sequencer.of(reply_key.key(), index):
            journal_key = call_key.key(digest(call["name"], call["args"]))
            message = await journaled(ports, journal_key, make_call)
            ports.sequencer.add_answer(reply_key.key(), message)
            return message


def _remaining_replies(request: ToolCallRequest) -> str:
    """The number of remaining replies, near the bound; otherwise empty."""
    ports: Ports = cast("Ports", request.runtime.context)
    remaining = ports.bounds.steps - replies(request.state["messages"])
    if remaining > REPLIES_ANNOUNCED:
        return ""
    return render("executor/last_replies", left=remaining).strip()


def _reply_key_and_index(request: ToolCallRequest) -> tuple[CallKey, int]:
    """The call key of the reply that makes the call, and the call's index in it, from 0."""
    ids = [call["id"] for call in request.state["messages"][-1].tool_calls]
    return for_reply(request.state), ids.index(request.tool_call["id"])


async def _answer(request: ToolCallRequest, handler: CallHandler) -> ToolMessage:
    """The tool's answer. A call that did not reach its tool gets a trace, too."""
    call: ToolCall = {**request.tool_call, "args": without_steps(request.tool_call["args"])}
    request = request.override(tool_call=call)
    if problem := _argument_problem(request):
        return refused(call, problem)
    try:
        answer = await _make_call(request, handler)
    except ToolRefused as error:
        return refused(call, str(error))
    assert isinstance(answer, ToolMessage)  # noqa: S101 - no tool answers with a Command
    if answer.artifact is None:
        answer.artifact = of_use(call["name"], None, ok=False, note=str(answer.text))
    elif not answer.artifact["data"].get("ok", True):
        answer.status = "error"
    return answer


async def _make_call(request: ToolCallRequest, handler: CallHandler) -> ToolMessage | Command[Any]:
    """Call a tool, or pass the call on to the server of the tool."""
    ports, call = cast("Ports", request.runtime.context), request.tool_call
    servers = ports.tool_servers
    if servers is None or call["name"] not in servers.names:
        if request.tool is None:
            own_names = [tool.name for tool in request.runtime.tools if offered(tool.name, ports)]
            names = [*own_names, *(servers.tools if servers else ())]
            raise ToolRefused(f"there is no tool {call['name']!r}; there are {', '.join(names)}")
        return await handler(request)
    text, trace = await call_server(servers, call["name"], call["args"], ports)
    return ToolMessage(text, name=call["name"], tool_call_id=call["id"], artifact=trace)


def _argument_problem(request: ToolCallRequest) -> str | None:
    """Why the call cannot be made, and the remedy; None if it can."""
    schema = request.tool.args_schema if request.tool is not None else None
    is_model = isinstance(schema, type) and issubclass(schema, BaseModel)
    arguments = cast("type[BaseModel]", schema) if is_model else None
    return argument_problem(request.tool_call, arguments, request.state["messages"][-1])
