"""ModelCalls: around each call of the executor's model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolCall

from agents.calls import model_call
from agents.history import replies
from agents.models import ReplyMalformed
from agents.place import place
from agents.ports import Ports
from agents.prompting import render
from agents.runs import EXECUTOR

MALFORMED = "malformed_arguments"
"""The one argument of a call whose arguments were not valid JSON: the text that came instead."""

Ask = Callable[[ModelRequest[Ports]], Awaitable[ModelResponse[Any]]]


class ModelCalls(AgentMiddleware[AgentState[Any], Ports, Any]):
    """Puts the job's model in place, keeps the bound on steps, and makes each call once."""

    async def awrap_model_call(
        self, request: ModelRequest[Ports], handler: Ask
    ) -> ModelResponse[Any] | AIMessage:
        """One model call; at the bound on steps, a closing word in its place."""
        ports = request.runtime.context
        if replies(request.messages) >= ports.bounds.steps:
            return AIMessage(render("executor_bound", steps=ports.bounds.steps))
        ready = request.override(model=ports.models.get(EXECUTOR))

        async def call() -> AIMessage:
            return _callable(await _ask(ready, handler))

        at = place(request.runtime.execution_info)
        return await model_call(ports, EXECUTOR, at, request.messages, call)


async def _ask(request: ModelRequest[Ports], handler: Ask) -> AIMessage:
    """The model's reply; a call that its provider kept back as broken is asked for once more."""
    try:
        response = await handler(request)
    except ReplyMalformed as error:
        broken = AIMessage(error.said or "(nothing)")
        again = [*request.messages, broken, HumanMessage(render("executor_broken_call"))]
        response = await handler(request.override(messages=again))
    message = response.result[0]
    assert isinstance(message, AIMessage)  # noqa: S101 - the handler's word for its type
    return message


def _callable(message: AIMessage) -> AIMessage:
    """`message` with its broken calls among its calls, so that each of them gets an answer."""
    if not message.invalid_tool_calls:
        return message
    broken = [_as_call(call, index) for index, call in enumerate(message.invalid_tool_calls)]
    calls = [*message.tool_calls, *broken]
    return message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})


def _as_call(call: InvalidToolCall, index: int) -> ToolCall:
    return ToolCall(
        name=call["name"] or "unnamed",
        args={MALFORMED: call["args"] or ""},
        id=call["id"] or f"broken_{index}",
        type="tool_call",
    )
