"""The author, the call ids and the fields of a reply. Pure.

A model needs the fields of its replies back, and the client libraries lose them.

Servers of chat completions add fields to a message (`reasoning_content`, `reasoning_details`) and
to its calls (`extra_content` with a signature). Some refuse the next request without them. So each
field that is not part of the standard stays with the reply, and goes back to the model that wrote
it.

See ADR 74.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage

from agents.texts import weight

FIELDS = "fields"
"""The key of a reply's `ReplyFields` in its `additional_kwargs`."""

_OF_A_MESSAGE = frozenset(
    {"role", "content", "tool_calls", "function_call", "refusal", "audio", "annotations"}
)
_OF_A_CALL = frozenset({"id", "type", "index", "function"})
_OF_A_FUNCTION = frozenset({"name", "arguments"})
"""What the clients read themselves, and send back if it belongs in a request."""


class ReplyFields(TypedDict):
    """Fields of the message, and of its calls by their ids; the fields of a call's function are in
    `function`."""

    message: dict[str, Any]
    calls: dict[str, dict[str, Any]]


def take_fields(message: dict[str, Any]) -> ReplyFields | None:
    """The fields of a message in the form of chat completions, or None.

    Gives each call a unique id, by which its fields are found again.
    """
    calls = message.get("tool_calls") or ()
    for call, name in zip(calls, unique_ids(_id_of(call) for call in calls), strict=True):
        call["id"] = name
    extra = {call["id"]: _extra_of_call(call) for call in calls}
    fields = ReplyFields(
        message=_extra(message, _OF_A_MESSAGE),
        calls={call_id: fields for call_id, fields in extra.items() if fields},
    )
    return fields if fields["message"] or fields["calls"] else None


def _id_of(call: Mapping[str, Any]) -> str:
    return str(call.get("id") or "")


def fields_of(message: BaseMessage) -> ReplyFields | None:
    """The fields that a message of the history has."""
    fields: ReplyFields | None = message.additional_kwargs.get(FIELDS)
    return fields


def with_fields(message: AIMessage, fields: ReplyFields | None) -> AIMessage:
    """`message` with `fields`, and without the copies of them that some clients make."""
    if fields is None:
        return message
    copies = list(fields["message"].values())
    kwargs = {key: value for key, value in message.additional_kwargs.items() if value not in copies}
    return message.model_copy(update={"additional_kwargs": {**kwargs, FIELDS: fields}})


def with_fields_of(reply: AIMessage, message: AIMessage) -> AIMessage:
    """`message`, which replaces `reply` in a request and calls nothing, with its fields."""
    fields = fields_of(reply)
    if fields is None:
        return message
    kwargs = {**message.additional_kwargs, FIELDS: ReplyFields(message=fields["message"], calls={})}
    metadata = {**message.response_metadata, ANSWERED_BY: answered_by(reply)}
    return message.model_copy(update={"additional_kwargs": kwargs, "response_metadata": metadata})


def fields_size(message: BaseMessage) -> int:
    """Bytes of the texts in the fields."""
    fields = fields_of(message)
    return _texts_size(fields) if fields else 0


def _texts_size(value: Any) -> int:
    if isinstance(value, str):
        return weight(value)
    if isinstance(value, Mapping):
        return sum(map(_texts_size, value.values()))
    return sum(map(_texts_size, value)) if isinstance(value, list) else 0


def without_foreign_fields(message: BaseMessage, model: str) -> BaseMessage:
    """`message` without fields, unless `model` wrote it (`provider:model`)."""
    return message if answered_by(message) == model else without_fields(message)


def without_fields(message: BaseMessage) -> BaseMessage:
    """`message` without fields."""
    if FIELDS not in message.additional_kwargs:
        return message
    kwargs = {key: value for key, value in message.additional_kwargs.items() if key != FIELDS}
    return message.model_copy(update={"additional_kwargs": kwargs})


def add_fields(body: Mapping[str, Any], history: Sequence[ReplyFields | None]) -> Mapping[str, Any]:
    """The body of a request with the fields of the model's replies, which are in order.

    A field that the client sends itself stays. If the client has sent another number of replies,
    they cannot be matched, and no reply gets fields.
    """
    if not any(history):
        return body
    messages = body["messages"]
    replies = [
        index for index, message in enumerate(messages) if message.get("role") == "assistant"
    ]
    if len(replies) != len(history):
        return body
    fields = dict(zip(replies, history, strict=True))
    return {
        **body,
        "messages": [_with(message, fields.get(index)) for index, message in enumerate(messages)],
    }


def _with(message: dict[str, Any], fields: ReplyFields | None) -> dict[str, Any]:
    if fields is None:
        return message
    merged = {**fields["message"], **message}
    if calls := message.get("tool_calls"):
        merged["tool_calls"] = [
            _call_with(call, fields["calls"].get(call.get("id"))) for call in calls
        ]
    return merged


def _call_with(call: dict[str, Any], extra: Mapping[str, Any] | None) -> dict[str, Any]:
    if extra is None:
        return call
    function = {**extra.get("function", {}), **call["function"]}
    return {**extra, **call, "function": function}


def _extra_of_call(call: Mapping[str, Any]) -> dict[str, Any]:
    extra = _extra(call, _OF_A_CALL)
    if function := _extra(call.get("function") or {}, _OF_A_FUNCTION):
        extra["function"] = function
    return extra


def _extra(value: Mapping[str, Any], standard: frozenset[str]) -> dict[str, Any]:
    """Fields that are not `standard`. An empty text stays: DeepSeek needs even that back."""
    return {
        name: field
        for name, field in value.items()
        if name not in standard and field is not None and field not in ([], {})
    }


ANSWERED_BY = "answered_by"
"""The key in a reply's metadata that names its model, as `provider:model`."""


def answered_by(message: BaseMessage) -> str | None:
    """The model that gave a reply, as `provider:model`; None if it is not a model's reply."""
    name: str | None = message.response_metadata.get(ANSWERED_BY)
    return name


_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_NAME_LENGTH = 64
_ID_LENGTH = 9


def unique_ids(ids: Iterable[str | None]) -> list[str]:
    """The ids of one reply's calls. A missing or repeated id is derived from the call's index, so
    that a reply always gets the same ids."""
    unique: list[str] = []
    for index, call_id in enumerate(ids):
        name = call_id or f"call_{index}"
        while name in unique:
            name = f"{name}_{index}"
        unique.append(name)
    return unique


def short_id(name: str, used: Container[str]) -> str:
    """An id of nine letters and digits in place of `name`, that is not `used`.

    Mistral accepts no other form; OpenAI accepts at most 40 characters; Anthropic and Bedrock
    letters, digits, `_` and `-`. The same arguments give the same id, so that the provider's cache
    of the request stays valid.
    """
    number = 0
    while True:
        written = f"{name}/{number}" if number else name
        short = hashlib.sha256(written.encode(errors="replace")).hexdigest()[:_ID_LENGTH]
        if short not in used:
            return short
        number += 1


def valid_name(name: str) -> str:
    """A tool's name with at most 64 letters, digits, `_` and `-`, that begins with no digit or `-`:
    OpenAI, Anthropic and Gemini refuse a history with any other name.

    Some models call `multi_tool_use.parallel`, or a tool without a name.
    """
    valid = _NOT_IN_A_NAME.sub("_", name)[:_NAME_LENGTH]
    if not valid.strip("_-"):
        return "unnamed"
    return valid if valid[0].isalpha() or valid[0] == "_" else f"_{valid}"[:_NAME_LENGTH]
