"""ModelCallMiddleware: wraps each call of the executor's model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    HumanMessage,
    SystemMessage,
)
from langchain_core.tools import BaseTool

from agents.attempt import Ports
from agents.calls.call_key import for_call
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Draft, Messages, tool_bytes
from agents.errors import BudgetExhausted, ReplyUnusable
from agents.executor.call_ids import CUT_SHOWN, with_all_calls
from agents.executor.loop_detection import repeated_call
from agents.executor.plan_progress import at_reply
from agents.executor.viewed_images import with_viewed_images
from agents.history import PAUSED, has_run, replies, runs_in, this_pass, traces
from agents.models.provider import ProviderModel
from agents.models.replies.ending import cut_off, output_tokens
from agents.ports import CallKey, Event
from agents.prompts import described, past_reply, render
from agents.repair.feedback import escalation_of
from agents.runs.program import VERIFY
from agents.runs.record import EXECUTOR
from agents.runs.sources import has_sources
from agents.texts import head_and_tail, weight
from agents.tools.registry import offered
from sandbox.protocol import MIB

_ASKED = "asked_to_verify"
"""Marks the reply of a model that was asked for a verification."""

Ask = Callable[[ModelRequest[Ports]], Awaitable[ModelResponse[Any]]]


class ModelCallMiddleware(AgentMiddleware[AgentState[Any], Ports, Any]):
    """Sets the job's model, bounds the number of calls, and makes each call once."""

    async def awrap_model_call(self, request: ModelRequest[Ports], handler: Ask) -> AIMessage:
        """One model call, or a closing text if the pass has to end.

        A reply that was cut off is asked for once more. Raises BudgetExhausted: a retry with a
        larger budget continues the pass at this call.
        """
        ports = request.runtime.context
        if any(not offered(name, ports) for name in _names(request)):
            tools = [each for each in request.tools if offered(_name(each), ports)]
            request = request.override(tools=tools)
        request = request.override(system_message=SystemMessage(_instructions(request, ports)))
        state = cast("dict[str, Any]", request.state)
        if (closing := _closing(request.messages, state, ports)) is not None:
            return closing
        reply = await _reply(request, handler)
        if await _needs_verification(reply, state, ports):
            reply = await _asked_to_verify(request, handler, reply)
        return with_all_calls(reply)


def _instructions(request: ModelRequest[Ports], ports: Ports) -> str:
    """The system prompt. It is no part of a call's key in the journal: a worker whose sandbox has
    other packages repeats no call."""
    return render(
        "executor/system" if ports.repository is None else "executor/repository",
        environment=described(ports.environment),
        seconds=f"{ports.limits.wall_seconds:g}",
        memory=ports.limits.memory_bytes // MIB,
        steps=ports.bounds.steps,
        tools=_names(request),
    )


def _names(request: ModelRequest[Ports]) -> list[str]:
    return [_name(tool) for tool in request.tools]


def _name(tool: BaseTool | dict[str, Any]) -> str:
    return str(tool["name"]) if isinstance(tool, dict) else tool.name


def _closing(
    messages: Sequence[AnyMessage], state: Mapping[str, Any], ports: Ports
) -> AIMessage | None:
    """The last message of a pass that has to end, or None: at the bound on calls; after a run, if
    the job allows no repair or a person reviews each run; when repairs or calls repeat
    themselves."""
    if replies(messages) >= ports.bounds.steps:
        return AIMessage(render("executor/bound", steps=ports.bounds.steps))
    if has_run(state["messages"]):
        if not ports.bounds.allow_repair:
            return AIMessage(render("executor/no_repair"))
        if ports.bounds.pause_each_run:
            return AIMessage(render("executor/paused"), response_metadata={PAUSED: True})
    why = escalation_of(state, ports).stopped or repeated_call(state["messages"])
    return AIMessage(render("executor/stuck", why=why)) if why else None


async def _needs_verification(reply: AIMessage, state: Mapping[str, Any], ports: Ports) -> bool:
    """Whether a reply would end a pass that made source files and declared no verification. A model
    is asked for one once."""
    if reply.tool_calls or reply.invalid_tool_calls or not state["ask_to_verify"]:
        return False
    said = this_pass(state["messages"])
    found = traces(said)
    if any(run.get("tool") == VERIFY for run in runs_in(found)):
        return False
    if any(message.response_metadata.get(_ASKED) for message in said):
        return False
    made = {*state["made_before"], *(file["name"] for trace in found for file in trace["files"])}
    return await has_sources(ports.workspace, made)


async def _asked_to_verify(
    request: ModelRequest[Ports], handler: Ask, answer: AIMessage
) -> AIMessage:
    """The reply to that question; the first `answer` if it calls nothing, or the budget is used
    up, or the model gives no usable reply."""
    ask = HumanMessage(render("executor/verify"))
    again = request.override(
        messages=[*request.messages, past_reply(str(answer.text), answer), ask]
    )
    try:
        reply = await _once(again, handler, ordinal=2)
    except (BudgetExhausted, ReplyUnusable):
        return answer
    if not reply.tool_calls and not reply.invalid_tool_calls:
        return answer
    reply.response_metadata = {**reply.response_metadata, _ASKED: True}
    return reply


async def _reply(request: ModelRequest[Ports], handler: Ask) -> AIMessage:
    """The reply. A text that was cut off is asked for once more."""
    reply = await _once(request, handler, ordinal=0)
    if reply.tool_calls or reply.invalid_tool_calls or not cut_off(reply):
        return reply
    repair = render("executor/cut_off", tokens=output_tokens(reply), tool=None)
    said = past_reply(head_and_tail(str(reply.text), CUT_SHOWN), reply)
    again = request.override(messages=[*request.messages, said, HumanMessage(repair)])
    second = await _once(again, handler, ordinal=1)
    calls = second.tool_calls or second.invalid_tool_calls
    return _marked(second) if cut_off(second) and not calls else second


def _marked(answer: AIMessage) -> AIMessage:
    """An answer that says itself that its end is missing, for all who read it."""
    text = "\n\n".join(filter(None, (str(answer.text), render("executor/cut_answer").strip())))
    return answer.model_copy(update={"content": text})


async def _once(request: ModelRequest[Ports], handler: Ask, *, ordinal: int) -> AIMessage:
    async def send(model: BaseChatModel, given: Messages) -> AIMessage:
        if isinstance(model, ProviderModel) and model.sees_images:
            given = await with_viewed_images(given, ports.workspace)
        response = await handler(
            request.override(model=model, messages=cast("list[AnyMessage]", given))
        )
        reply = response.result[0]
        assert isinstance(reply, AIMessage)  # noqa: S101 - the handler's type is wider
        return reply

    state = cast("dict[str, Any]", request.state)
    at = for_call(CallKey(*state["key"]), replies(state["messages"]), ordinal)
    ports = request.runtime.context
    escalated = escalation_of(state, ports)

    def step_events(reply: AIMessage) -> Sequence[Event]:
        before = this_pass(state["messages"])
        changes = at_reply(before, reply, state.get("steps", 0))
        return changes.events(CallKey(*state["key"]), replies(before), state["revision"])

    instructions = weight(str(request.system_message.text)) if request.system_message else 0
    draft = Draft(request.messages, instructions + tool_bytes(request.tools))
    system = [request.system_message] if request.system_message else []
    call = ModelCall(
        EXECUTOR,
        at,
        request.messages,
        draft=draft,
        sent_messages=[*system, *request.messages],
        sent_tools=_names(request),
        level=escalated.level,
        varied=escalated.repair_failed,
    )
    return await model_call(ports, call, send, step_events)
