"""ModelCallMiddleware: wraps each call of the executor's model.

It bounds the calls of a pass, ends a pass in which the model repeats the same call, adds the images
that the model has viewed, and gives the tool calls of each reply unique ids.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
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
from agents.calls.messages import (
    has_unread,
    mark_unread,
    messages_read,
    turn_of,
    with_earlier_messages,
)
from agents.calls.model_call import ModelCall, model_call
from agents.context.overflow import Draft, Messages, tool_bytes
from agents.errors import BudgetExhausted, ReplyUnusable
from agents.executor.plan_progress import changes_by_reply, without_steps
from agents.history import PAUSED, has_run, replies, runs_in, this_pass, traces
from agents.models.provider import ProviderModel
from agents.models.replies.ending import MALFORMED, cut_off, output_tokens
from agents.models.replies.fields import answered_by, unique_ids
from agents.ports import Event, Workspace
from agents.prompts import described, past_reply, render
from agents.prompts.images import Image, image_parts
from agents.repair.feedback import escalation_of
from agents.runs.program import VERIFY
from agents.runs.record import EXECUTOR
from agents.runs.sources import has_sources
from agents.texts import head_and_tail, weight
from agents.tools.registry import offered
from sandbox.protocol import MIB

MAX_REPEATS = 5
"""Replies in a row with the same calls, by the same model, that end a pass."""
CUT_CHARACTERS = 2_000
"""The length to which a cut-off reply is shortened: every later request repeats the reply."""
_ASKED_TO_VERIFY = "asked_to_verify"
"""Marks the reply of a model that was asked for a verification."""

CallHandler = Callable[[ModelRequest[Ports]], Awaitable[ModelResponse[Any]]]


class ModelCallMiddleware(AgentMiddleware[AgentState[Any], Ports, Any]):
    """Sets the job's model, bounds the number of calls, and makes each call once."""

    async def awrap_model_call(
        self, request: ModelRequest[Ports], handler: CallHandler
    ) -> ModelResponse[Any]:
        """One model call, or a closing text if the pass has to end. The messages of persons that
        the call read come before the reply.

        The model gets one more request if its reply was cut off, or if it ends the pass while a
        message is unread. Raises BudgetExhausted: a retry with a larger budget continues the pass
        at this call.
        """
        ports = request.runtime.context
        tools = [tool for tool in request.tools if offered(_tool_name(tool), ports)]
        if ports.tool_servers is not None:
            tools += [tool.for_model() for tool in ports.tool_servers.tools.values()]
        request = request.override(tools=tools)
        request = request.override(system_message=SystemMessage(_system_prompt(request, ports)))
        result: list[BaseMessage] = []
        while (closing := _closing_message(request, ports)) is None:
            reply = await _complete_reply(request, handler)
            if await _needs_verification(request, reply, ports):
                reply = await _ask_to_verify(request, handler, reply)
            turn = turn_of(with_all_calls(reply))
            result += turn
            if not has_unread(turn[-1]):
                return ModelResponse(result)
            state = {**request.state, "messages": [*request.state["messages"], *turn]}
            request = request.override(
                state=cast("AgentState[Any]", state),
                messages=cast("list[AnyMessage]", [*request.messages, *turn]),
            )
        return ModelResponse(result or [closing])  # a closing text would replace the answer


def _system_prompt(request: ModelRequest[Ports], ports: Ports) -> str:
    """The system prompt. It is not part of a call's key in the journal, so a worker with other
    packages in its sandbox repeats no call."""
    return render(
        "executor/system" if ports.repository is None else "executor/repository",
        environment=described(ports.environment),
        seconds=f"{ports.limits.wall_seconds:g}",
        memory=ports.limits.memory_bytes // MIB,
        steps=ports.bounds.steps,
        tools=_tool_names(request),
        servers=any(isinstance(tool, dict) for tool in request.tools),
    )


def _tool_names(request: ModelRequest[Ports]) -> list[str]:
    return [_tool_name(tool) for tool in request.tools]


def _tool_name(tool: BaseTool | dict[str, Any]) -> str:
    return str(tool["function"]["name"]) if isinstance(tool, dict) else tool.name


def _closing_message(request: ModelRequest[Ports], ports: Ports) -> AIMessage | None:
    """The last message of a pass that has to end; None if the pass continues.

    A pass ends at the bound on replies, after a run if the job allows no repair or a person reviews
    each run, and if repairs or calls repeat themselves.
    """
    state = cast("dict[str, Any]", request.state)
    if replies(request.messages) >= ports.bounds.steps:
        return AIMessage(render("executor/bound", steps=ports.bounds.steps))
    if has_run(state["messages"]):
        if not ports.bounds.allow_repair:
            return AIMessage(render("executor/no_repair"))
        if ports.bounds.pause_each_run:
            return AIMessage(render("executor/paused"), response_metadata={PAUSED: True})
    reason = escalation_of(state, ports).stopped or repeated_call(state["messages"])
    return AIMessage(render("executor/stuck", why=reason)) if reason else None


async def _needs_verification(request: ModelRequest[Ports], reply: AIMessage, ports: Ports) -> bool:
    """Whether the reply would end a pass that made source files and declared no verification. A
    model is asked for a verification only once."""
    state = cast("dict[str, Any]", request.state)
    if reply.tool_calls or reply.invalid_tool_calls or not state["request"].ask_to_verify:
        return False
    messages = this_pass(state["messages"])
    pass_traces = traces(messages)
    if any(run.get("tool") == VERIFY for run in runs_in(pass_traces)):
        return False
    if any(message.response_metadata.get(_ASKED_TO_VERIFY) for message in messages):
        return False
    new_files = {file["name"] for trace in pass_traces for file in trace["files"]}
    return await has_sources(ports.workspace, new_files.union(state["request"].made_before))


async def _ask_to_verify(
    request: ModelRequest[Ports], handler: CallHandler, answer: AIMessage
) -> AIMessage:
    """Ask for a verification. The reply is the first `answer` if the second one calls no tool, if
    the budget is used up, or if the model gives no usable reply."""
    question = HumanMessage(render("executor/verify"))
    past = past_reply(str(answer.text), answer)
    second_request = request.override(
        messages=[*request.messages, *messages_read(answer), past, question]
    )
    try:
        reply = await _call_model(second_request, handler, ordinal=2)
    except (BudgetExhausted, ReplyUnusable):
        return answer
    if not reply.tool_calls and not reply.invalid_tool_calls:
        if messages_read(reply) or has_unread(reply):
            mark_unread(answer)
        return answer
    reply.response_metadata = {**reply.response_metadata, _ASKED_TO_VERIFY: True}
    return with_earlier_messages(reply, answer)


async def _complete_reply(request: ModelRequest[Ports], handler: CallHandler) -> AIMessage:
    """The model's reply. If it is a text that was cut off, the model is asked once more."""
    reply = await _call_model(request, handler, ordinal=0)
    if reply.tool_calls or reply.invalid_tool_calls or not cut_off(reply):
        return reply
    question = HumanMessage(render("executor/cut_off", tokens=output_tokens(reply), tool=None))
    shortened = past_reply(head_and_tail(str(reply.text), CUT_CHARACTERS), reply)
    second_request = request.override(
        messages=[*request.messages, *messages_read(reply), shortened, question]
    )
    second = with_earlier_messages(await _call_model(second_request, handler, ordinal=1), reply)
    calls = second.tool_calls or second.invalid_tool_calls
    return _mark_as_cut(second) if cut_off(second) and not calls else second


def _mark_as_cut(answer: AIMessage) -> AIMessage:
    """The answer with a sentence that its end is missing."""
    text = "\n\n".join(filter(None, (str(answer.text), render("executor/cut_answer").strip())))
    return answer.model_copy(update={"content": text})


async def _call_model(
    request: ModelRequest[Ports], handler: CallHandler, *, ordinal: int
) -> AIMessage:
    async def send(model: BaseChatModel, messages: Messages) -> AIMessage:
        if isinstance(model, ProviderModel) and model.sees_images:
            messages = await with_viewed_images(messages, ports.workspace)
        response = await handler(
            request.override(model=model, messages=cast("list[AnyMessage]", messages))
        )
        reply = response.result[0]
        assert isinstance(reply, AIMessage)  # noqa: S101 - the handler's type is wider
        return reply

    state = cast("dict[str, Any]", request.state)
    pass_request, ports = state["request"], request.runtime.context
    escalated = escalation_of(state, ports)

    def step_events(reply: AIMessage) -> Sequence[Event]:
        earlier = this_pass(state["messages"])
        changes = changes_by_reply(earlier, reply, pass_request.plan_length)
        return changes.events(pass_request.pass_key, replies(earlier), pass_request.revision)

    instructions = weight(str(request.system_message.text)) if request.system_message else 0
    draft = Draft(request.messages, instructions + tool_bytes(request.tools))
    system = [request.system_message] if request.system_message else []
    call = ModelCall(
        EXECUTOR,
        for_call(pass_request.pass_key, replies(state["messages"]), ordinal),
        request.messages,
        draft=draft,
        recorded_messages=[*system, *request.messages],
        recorded_tools=_tool_names(request),
        level=escalated.level,
        varied=escalated.repair_failed,
    )
    return await model_call(ports, call, send, step_events)


def with_all_calls(message: AIMessage) -> AIMessage:
    """`message` with its broken calls among its calls, each with a unique id, so that each gets an
    answer. Some servers send several calls with one id, or without an id. The order of calls, their
    keys in the journal and the pairing of answers need unique ids."""
    if not message.invalid_tool_calls:
        return with_unique_ids(message)
    length = CUT_CHARACTERS if cut_off(message) else None
    broken = [
        _as_tool_call(call, index, length) for index, call in enumerate(message.invalid_tool_calls)
    ]
    calls = [*message.tool_calls, *broken]
    return with_unique_ids(
        message.model_copy(update={"tool_calls": calls, "invalid_tool_calls": []})
    )


def _as_tool_call(call: InvalidToolCall, index: int, length: int | None) -> ToolCall:
    args = call["args"] or ""
    return ToolCall(
        name=call["name"] or "unnamed",
        args={MALFORMED: args if length is None else head_and_tail(args, length)},
        id=call["id"] or f"broken_{index}",
        type="tool_call",
    )


def with_unique_ids(message: AIMessage) -> AIMessage:
    """`message` with a unique id for each of its calls. A missing or repeated id is derived from
    the call's index, so that a reply always gets the same ids, also when it is read from the
    journal."""
    ids = [call["id"] for call in message.tool_calls]
    new_ids = unique_ids(ids)
    if new_ids == ids:
        return message
    calls = [{**call, "id": new} for call, new in zip(message.tool_calls, new_ids, strict=True)]
    content = _content_with_unique_ids(message.content)
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _content_with_unique_ids(content: Any) -> Any:
    """Anthropic's replies also list their calls in their content, in the same order."""
    if isinstance(content, str):
        return content
    new_ids = iter(unique_ids(block["id"] for block in content if _is_call(block)))
    return [{**block, "id": next(new_ids)} if _is_call(block) else block for block in content]


def _is_call(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "tool_use" and "id" in block


def repeated_call(messages: Sequence[AnyMessage]) -> str | None:
    """Why the pass has to end, because the model repeats the same call; None if it does not.

    `repair.escalation` has its own rules for failed runs. This rule is for other calls: looks at
    files, tools that do not exist, runs that have succeeded before. The answers are not compared,
    because the files do not change between two equal calls in a row.
    """
    all_replies = [message for message in this_pass(messages) if isinstance(message, AIMessage)]
    last_replies = all_replies[-MAX_REPEATS:]
    if len(last_replies) < MAX_REPEATS or not last_replies[-1].tool_calls:
        return None
    last_calls = _calls_by_model(last_replies[-1])
    if any(_calls_by_model(reply) != last_calls for reply in last_replies):
        return None
    return f"the same call was made {MAX_REPEATS} times in a row"


def _calls_by_model(reply: AIMessage) -> tuple[Any, ...]:
    calls = [(call["name"], without_steps(call["args"])) for call in reply.tool_calls]
    return answered_by(reply), calls


async def with_viewed_images(
    messages: Sequence[BaseMessage], workspace: Workspace
) -> list[BaseMessage]:
    """The conversation of a pass, with the viewed images after the answers to each reply. Only some
    providers accept an image within the answer to a call."""
    conversation: list[BaseMessage] = []
    images: list[Image] = []
    for message in [*messages, None]:
        if images and not isinstance(message, ToolMessage):
            conversation.append(HumanMessage(image_parts(images)))
            images = []
        if message is not None:
            conversation.append(message)
        trace = message.artifact if isinstance(message, ToolMessage) else None
        if trace and "image" in trace:
            content = await workspace.stored(trace["image"])
            images.append(Image(str(trace["data"]["path"]), content))
    return conversation
