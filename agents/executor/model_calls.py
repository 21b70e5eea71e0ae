"""ModelCallMiddleware: wraps each call of the executor's model.

It bounds the calls of a pass, ends a pass in which the model repeats the same call, adds the images
that the model has viewed, and gives the tool calls of each reply unique ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.tools import BaseTool

from agents.attempt import Ports
from agents.calls.call_key import for_call
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Draft, Messages, tool_bytes
from agents.errors import BudgetExhausted, ReplyUnusable
from agents.executor.plan_progress import at_reply, without_steps
from agents.history import PAUSED, has_run, replies, runs_in, this_pass, traces
from agents.models.provider import ProviderModel
from agents.models.replies.ending import MALFORMED, cut_off, output_tokens
from agents.models.replies.fields import answered_by, unique_ids
from agents.ports import CallKey, Event, Workspace
from agents.prompts import described, past_reply, render
from agents.prompts.images import Image, image_parts
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


CUT_SHOWN = 2_000
"""Characters that stay of a reply that was cut off: every later request repeats them."""


def with_all_calls(message: AIMessage) -> AIMessage:
    """`message` with its broken calls among its calls, each with a unique id, so that each gets an
    answer. Some servers send several calls with one id, or without an id. The order of calls, their
    keys in the journal and the pairing of answers need unique ids."""
    if not message.invalid_tool_calls:
        return with_unique_ids(message)
    most = CUT_SHOWN if cut_off(message) else None
    broken = [_as_call(call, index, most) for index, call in enumerate(message.invalid_tool_calls)]
    calls = [*message.tool_calls, *broken]
    return with_unique_ids(
        message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
    )


def _as_call(call: InvalidToolCall, index: int, most: int | None) -> ToolCall:
    args = call["args"] or ""
    return ToolCall(
        name=call["name"] or "unnamed",
        args={MALFORMED: args if most is None else head_and_tail(args, most)},
        id=call["id"] or f"broken_{index}",
        type="tool_call",
    )


def with_unique_ids(message: AIMessage) -> AIMessage:
    """`message` with a unique id for each of its calls. A missing or repeated id is derived from
    the call's index, so that a reply always gets the same ids, also when it is read from the
    journal."""
    ids = [call["id"] for call in message.tool_calls]
    own = unique_ids(ids)
    if own == ids:
        return message
    calls = [{**call, "id": each} for call, each in zip(message.tool_calls, own, strict=True)]
    return message.model_copy(update={"tool_calls": calls, "content": _content(message.content)})


def _content(content: Any) -> Any:
    """Anthropic's replies also list their calls in their content, in the same order."""
    if isinstance(content, str):
        return content
    own = iter(unique_ids(block["id"] for block in content if _is_call(block)))
    return [{**block, "id": next(own)} if _is_call(block) else block for block in content]


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block


MAX_REPEATS = 5
"""Replies in a row with the same calls, by the same model, that end a pass."""


def repeated_call(messages: Sequence[AnyMessage]) -> str | None:
    """Why the pass has to end, because the model repeats the same call; None if it does not.

    `repair.escalation` has its own rules for failed runs. This rule is for other calls: looks at
    files, tools that do not exist, runs that have succeeded before. The answers are not compared,
    because the files do not change between two equal calls in a row.
    """
    replies = [each for each in this_pass(messages) if isinstance(each, AIMessage)][-MAX_REPEATS:]
    made = [_made(reply) for reply in replies]
    if len(made) < MAX_REPEATS or not replies[-1].tool_calls or made.count(made[-1]) < MAX_REPEATS:
        return None
    return f"the same call was made {MAX_REPEATS} times in a row"


def _made(reply: AIMessage) -> tuple[Any, ...]:
    calls = [(call["name"], without_steps(call["args"])) for call in reply.tool_calls]
    return answered_by(reply), calls


async def with_viewed_images(
    messages: Sequence[BaseMessage], workspace: Workspace
) -> list[BaseMessage]:
    """The conversation of a pass, with the images after the results of the reply that asked for
    them. Only some providers accept an image within the result of a call."""
    conversation: list[BaseMessage] = []
    asked: list[Image] = []
    for message in [*messages, None]:
        if asked and not isinstance(message, ToolMessage):
            conversation.append(HumanMessage(image_parts(asked)))
            asked = []
        if message is not None:
            conversation.append(message)
        trace = message.artifact if isinstance(message, ToolMessage) else None
        if trace and "image" in trace:
            content = await workspace.kept(trace["image"])
            asked.append(Image(str(trace["data"]["path"]), content))
    return conversation
