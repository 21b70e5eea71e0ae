"""The fields and ids that a server needs in the messages of a conversation. Pure.

A model that takes over a conversation gets replies that it did not write: replies of another model,
and of Fettle. Some servers need fields in each reply, or one form of the calls' ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agents.models.capabilities.record import Capabilities
from agents.models.replies.fields import short_id
from agents.models.replies.history import NO_TEXT

NO_SIGNATURE = "skip_thought_signature_validator"
"""Google's value for a call of another model.
https://ai.google.dev/gemini-api/docs/thought-signatures"""
IN_COMPLETIONS = "messages.tool_calls.extra_content.google.thought_signature"
IN_GEMINI = "contents.parts.thoughtSignature"
"""The signature of a call in chat completions and in Gemini's API, as in `Capabilities.add`."""

_NAME = r"\b(?P<{}>reasoning(?:_content|_text)?)\b"
_DEMAND = (
    r"(?:must be (?:passed|sent|provided|included|present|specified)|(?:is|are) required|missing)"
)
# `reasoning_content` is missing; the `reasoning_content` in the thinking mode must be passed back
_TEXT_NEEDED = re.compile(
    rf"{_NAME.format('before')}(?:\W+\w+){{0,6}}?\W+{_DEMAND}"
    rf"|{_DEMAND}(?:\W+\w+){{0,3}}?\W+{_NAME.format('after')}",
    re.IGNORECASE,
)
_SIGNATURE_NEEDED = re.compile(
    r"missing\W+(?:an?\W+|the\W+)?thought_?signature"
    r"|thought_?signature\W+(?:is\W+|are\W+)?(?:missing|required)",
    re.IGNORECASE,
)
_CONTENT_NEEDED = re.compile(
    r"\bcontent\b[\s\S]{0,60}?(?:valid string|must be (?:a )?string|not an allowed value"
    r"|(?:got|invalid type:) null|(?:not|non)[ -]?(?:be )?null|(?:is|field) required)"
    r"|missing field \W?content\b",
    re.IGNORECASE,
)
# OpenRouter passes the ids of OpenAI's items on, and OpenAI has not stored the items.
_ITEM_GONE = re.compile(r"item with id \W*rs_", re.IGNORECASE)
_ID_REFUSED = re.compile(
    r"(?:tool[ _]?(?:call|use)[ _]?ids?\b|tool_(?:calls?|use)[\w.\[\]]{0,80}\.id\b)"
    r"[\s\S]{0,400}?(?:must|match|pattern|too long|length|invalid|characters|format)",
    re.IGNORECASE,
)

_NAME_NEEDED = re.compile(
    r"function_?response\.name|tool (?:message|result)\w*\W[^.]{0,40}\bname\b"
    r"|missing[^.]{0,20}\bname\b[^.]{0,20}tool (?:message|result)",
    re.IGNORECASE,
)


def learn_history(sentence: str, sent: Mapping[str, Any], record: Capabilities) -> Capabilities:
    """The record with the lesson of a refusal's sentence about the conversation in `sent`."""
    if match := _TEXT_NEEDED.search(sentence):
        name = (match["before"] or match["after"]).lower()
        record = _with_addition(record, f"messages.{name}", NO_TEXT)
    if _SIGNATURE_NEEDED.search(sentence):
        path = IN_GEMINI if "contents" in sent else IN_COMPLETIONS
        record = _with_addition(record, path, NO_SIGNATURE)
    if _CONTENT_NEEDED.search(sentence) and _has_null_content(sent):
        record = _with_addition(record, "messages.content", "")
    if _ITEM_GONE.search(sentence):
        record = record.changed(drop=record.drop | {"messages.reasoning_details.id"})
    if _ID_REFUSED.search(sentence):
        record = record.changed(short_ids=True)
    if _NAME_NEEDED.search(sentence):
        record = record.changed(named_results=True)
    return record


def learn_opposite(sentence: str, sent: Mapping[str, Any], record: Capabilities) -> Capabilities:
    """The record with the lesson of a sentence that only names a field of replies: the server needs
    the field if a reply was sent without it, and refuses it if all replies had it."""
    if "reasoning_content" in sentence:
        messages = sent.get("messages") or ()
        replies = [message for message in messages if message.get("role") == "assistant"]
        if all(message.get("reasoning_content") for message in replies):
            return without_field(record, "messages.reasoning_content")
        return _with_addition(record, "messages.reasoning_content", NO_TEXT)
    if re.search(r"thought[ _]?signature", sentence, re.IGNORECASE) and "contents" in sent:
        return without_field(record, "contents.thoughtSignature")
    return record


def _has_null_content(body: Mapping[str, Any]) -> bool:
    """Whether a reply has calls and no content, as OpenAI writes it."""
    messages = body.get("messages") or ()
    return any(message["content"] is None for message in messages if "content" in message)


def adapt_history(body: dict[str, Any], record: Capabilities) -> dict[str, Any]:
    """`body` with the fields and names that the server needs, and with ids that it accepts."""
    for path, value in record.add.items():
        section, *steps = path.split(".")
        if isinstance(messages := body.get(section), list):
            body = {**body, section: [_with_field(message, steps, value) for message in messages]}
    messages = body.get("messages")
    if record.named_results and isinstance(messages, list):
        messages = _with_names(messages)
    if record.short_ids and isinstance(messages, list):
        messages = list(_with_short_ids(messages))
    return body if messages is None else {**body, "messages": messages}


def without_field(record: Capabilities, path: str) -> Capabilities:
    added = {name: value for name, value in record.add.items() if name != path}
    return record.changed(drop=record.drop | {path}, add=added)


def _with_addition(record: Capabilities, path: str, value: str) -> Capabilities:
    return record.changed(add={**record.add, path: value}, drop=record.drop - {path})


def _with_field(message: dict[str, Any], steps: Sequence[str], value: str) -> dict[str, Any]:
    """`message`, if it is a reply without the field: `steps` is the path to it. A field of calls is
    needed in the first call only."""
    if message.get("role") not in ("assistant", "model"):
        return message
    name, *inner = steps
    if not inner:
        return {**message, name: message.get(name) or value}
    items = message.get(name) or []
    calls = [index for index, item in enumerate(items) if name != "parts" or "functionCall" in item]
    if not calls or any(_value_at(items[index], inner) for index in calls):
        return message
    items = list(items)
    items[calls[0]] = _with_value(items[calls[0]], inner, value)
    return {**message, name: items}


def _value_at(item: Any, steps: Sequence[str]) -> Any:
    for name in steps:
        item = item.get(name) if isinstance(item, dict) else None
    return item


def _with_value(item: Mapping[str, Any], steps: Sequence[str], value: str) -> dict[str, Any]:
    name, *inner = steps
    return {**item, name: _with_value(item.get(name) or {}, inner, value) if inner else value}


def _with_names(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Chat completions: the messages with the name of its tool in each result."""
    calls = (call for message in messages for call in message.get("tool_calls") or ())
    names = {call["id"]: call["function"]["name"] for call in calls}
    return [
        {"name": names[message["tool_call_id"]], **message}
        if message.get("tool_call_id") in names
        else message
        for message in messages
    ]


def _with_short_ids(messages: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Chat completions: the messages with nine letters and digits in place of each id."""
    for message in messages:
        if calls := message.get("tool_calls"):
            yield {**message, "tool_calls": [{**call, "id": _short(call["id"])} for call in calls]}
        elif "tool_call_id" in message:
            yield {**message, "tool_call_id": _short(message["tool_call_id"])}
        else:
            yield message


def _short(call_id: str) -> str:
    return call_id if re.fullmatch("[a-zA-Z0-9]{9}", call_id) else short_id(call_id, ())
