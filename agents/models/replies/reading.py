"""Reads a reply as its client library returns it: calls, answer and finish reason; and asks again
after a reply that is not an answer.

A server without a reasoning parser leaves thoughts in the text: between tags at its beginning, or
with the closing tag only, if its chat template has written the opening tag.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatResult

from agents.errors import ModelUnavailable, ReplyUnusable
from agents.models.replies.arguments import Schema, as_meant, unwrapped
from agents.models.replies.ending import cut_off, require_answer, separate_broken_calls
from agents.models.replies.fields import ANSWERED_BY, ReplyFields, with_fields, with_fields_of
from agents.models.replies.history import NO_TEXT
from agents.models.replies.text_calls import (
    TextCalls,
    offered_name,
    read_text_calls,
    text_call_form,
)
from agents.models.replies.text_forms import (
    ANSWER_TAG,
    FIRST_TOKENS,
    LAST_TOKENS,
    LONE_THOUGHTS_END,
    THOUGHTS_BEGIN,
    THOUGHTS_END,
    find_outside_code,
)
from agents.texts import fix_surrogates, head_and_tail, is_blank

Tools = Mapping[str, Schema]
"""The parameters of each offered tool, by its name."""
CALLS_AS_TEXT = "calls_as_text"
"""The key in a reply's metadata that names the form of its tool calls, if they came as text."""
_ADVICE = "the model's tool calls come as text: start the server with --jinja / a tool-call parser"


def read_reply(
    result: ChatResult, fields: ReplyFields | None, model: str, tools: Tools
) -> AIMessage:
    """The reply of `model` (`provider:model`), with `fields` that its client has lost.

    Raises ReplyUnusable for a reply that is no answer, and ModelRefused if the model declined.
    """
    generations = result.generations
    if not (generations and isinstance(generations[0].message, AIMessage)):
        raise ModelUnavailable("unreadable reply: it has no message of the model's", status=200)
    message = with_fields(generations[0].message, fields)
    information = {**(result.llm_output or {}), **(generations[0].generation_info or {})}
    metadata = {**information, **message.response_metadata, ANSWERED_BY: model}
    # Most clients parse a call's arguments from a text: half a surrogate pair can be in it as an
    # ASCII escape, which the reply's body does not show.
    calls = [
        {**call, "args": fix_surrogates(unwrapped(call["args"]))} for call in message.tool_calls
    ]
    update = {"response_metadata": metadata, "tool_calls": calls}
    return _read(separate_broken_calls(message.model_copy(update=update)), tools)


def read_withheld(error: ReplyUnusable, tools: Tools) -> AIMessage | None:
    """The reply that a provider has withheld because it could not read the tool call, if its text
    has a call that can be read."""
    if error.reply is not None or not read_text_calls(error.text, tools).calls:
        return None
    return _read(AIMessage(error.text), tools)


def _read(message: AIMessage, tools: Tools) -> AIMessage:
    text = str(message.text)
    plain = without_thoughts(text)
    text_calls = read_text_calls(plain, tools)
    if message.tool_calls or message.invalid_tool_calls:
        text_calls = TextCalls(plain if text_calls.calls or text_calls.unread else text_calls.text)
    if text_calls.unread and tools and not cut_off(message):
        reason = f"has a tool call as text ({text_calls.unread}), which was not run"
        raise ReplyUnusable(reason, text=text, reply=message, advice=_ADVICE)
    calls = [
        _with_meant_arguments(call, tools) for call in [*message.tool_calls, *_new(text_calls)]
    ]
    update: dict[str, Any] = {"tool_calls": calls}
    if text_calls.calls:
        form = text_call_form(plain)
        update["response_metadata"] = {**message.response_metadata, CALLS_AS_TEXT: form}
    if text_calls.text != text:
        update["content"] = _with_text(message.content, text_calls.text)
    read = message.model_copy(update=update)
    require_answer(read, has_thoughts=is_blank(plain) and not is_blank(text))
    return read


def _new(text_calls: TextCalls) -> list[ToolCall]:
    return [
        ToolCall(name=name, args=arguments, id=f"call_{uuid4().hex[:24]}", type="tool_call")
        for name, arguments in text_calls.calls
    ]


def _with_meant_arguments(call: ToolCall, tools: Tools) -> ToolCall:
    name = offered_name(call["name"], tools) or call["name"]
    return {**call, "name": name, "args": as_meant(call["args"], tools.get(name, {}))}


def _with_text(content: str | list[str | dict[str, Any]], text: str) -> Any:
    """The content with another text; its other blocks stay."""
    if isinstance(content, str):
        return text
    other_blocks = [
        block
        for block in content
        if isinstance(block, dict) and block.get("type", "text") != "text"
    ]
    return [*other_blocks, {"type": "text", "text": text}] if text else other_blocks


_SHOWN_CHARACTERS = 2_000
"""How much of the unusable reply is quoted. The quotation is paid for, and has to be recognised."""


def ask_again(
    messages: Sequence[BaseMessage], error: ReplyUnusable, tools: Collection[str]
) -> list[BaseMessage]:
    """The request, the reply that is no answer, and the fault of this reply.

    At temperature 0 the unchanged request would get the same reply. If the server broke off, the
    request stays unchanged. `tools` are the names of the tools that are offered.
    """
    if error.transient:
        return list(messages)
    quotation = NO_TEXT if is_blank(error.text) else head_and_tail(error.text, _SHOWN_CHARACTERS)
    request = f"Your last reply {error}. It does not count. {_request(tools)}"
    reply = AIMessage(quotation)
    if error.reply is not None:
        reply = with_fields_of(error.reply, reply)
    return [*messages, reply, HumanMessage(request)]


def _request(tools: Collection[str]) -> str:
    match list(tools):
        case []:
            return "Answer in plain text."
        case [name]:
            return f"Answer by calling `{name}`."
        case _:
            return "Call a tool, or answer in plain text."


def without_thoughts(text: str) -> str:
    """The text after its thoughts, without the tokens of a chat template at its ends.

    Empty if the thoughts are not closed: all of the text belongs to them.
    """
    text = _without_last_tokens(FIRST_TOKENS.sub("", text))
    answer = _after_thoughts(text)
    if answer == text:
        return text
    if tag := ANSWER_TAG.match(answer):
        return answer[tag.end() :].strip().removesuffix(f"</{tag[1]}>").strip()
    return FIRST_TOKENS.sub("", answer)


def _after_thoughts(text: str) -> str:
    while opening := THOUGHTS_BEGIN.match(text):
        closing = THOUGHTS_END.search(text, opening.end())
        if closing is None:
            return ""
        text = text[closing.end() :].lstrip()
    if alone := find_outside_code(LONE_THOUGHTS_END, text):
        return text[alone.end() :].lstrip()
    return text


def _without_last_tokens(text: str) -> str:
    """The text without the tokens at its end, and without the white space around them."""
    last = len(text)
    end = _end_of_text(text, last)
    while token := next(
        (last_token for last_token in LAST_TOKENS if text.endswith(last_token, 0, end)), ""
    ):
        last = end = _end_of_text(text, end - len(token))
    return text[:last]


def _end_of_text(text: str, end: int) -> int:
    """The position after the last character before `end` that is not white space."""
    while end and text[end - 1].isspace():
        end -= 1
    return end
