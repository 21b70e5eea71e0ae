"""A conversation in the form that the receiving model accepts. Pure.

Only the request changes, not the stored conversation. The result depends on the conversation and
the model alone, so that a provider's cache of an earlier request stays valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from agents.models.replies.fields import FIELDS, ReplyFields, answered_by, short_id, valid_name
from agents.texts import is_blank

NO_TEXT = "(no text)"
"""Replaces blank content: Anthropic refuses blank texts, and Mistral an empty reply."""
NO_RESULT = "(no result)"


def history_for(model: str, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """`messages` as `model` (`provider:model`) accepts them.

    - Replies of other models are plain text and calls: thoughts, signatures and fields belong to
      the model that wrote them. Other models and some clients refuse them.
    - Each call has a unique id, a valid name and one result.
    - No message is blank, and no user message follows another.
    """
    converted = [
        _plain(message) if _is_foreign(message, model) else message for message in messages
    ]
    return list(_joined(map(_with_text, _paired(converted, model))))


def _is_foreign(message: BaseMessage, model: str) -> bool:
    return isinstance(message, AIMessage) and answered_by(message) != model


def _plain(message: BaseMessage) -> BaseMessage:
    if isinstance(message.content, str) and not message.additional_kwargs:
        return message
    return message.model_copy(update={"content": str(message.text), "additional_kwargs": {}})


def _paired(messages: Iterable[BaseMessage], model: str) -> Iterator[BaseMessage]:
    """The messages with valid calls, each of which has one result."""
    used_ids: set[str] = set()
    waiting: list[_RenamedCall] = []
    for message in messages:
        if isinstance(message, ToolMessage):
            call = next(
                (candidate for candidate in waiting if candidate.old_id == message.tool_call_id),
                None,
            )
            if call is None:  # trimming has removed the call
                yield HumanMessage(f"The result of an earlier call:\n\n{message.text}")
            else:
                waiting.remove(call)
                update = {"tool_call_id": call.id, "name": call.name}
                yield message.model_copy(update=update)
            continue
        yield from map(_no_result, waiting)
        waiting = []
        if isinstance(message, AIMessage):
            waiting = _calls_of(message, used_ids, is_own=answered_by(message) == model)
            yield _with_calls(message, waiting)
        else:
            yield message
    yield from map(_no_result, waiting)


@dataclass(frozen=True, slots=True)
class _RenamedCall:
    """A call, with its id in the stored conversation, and a valid id and name."""

    old_id: str | None
    id: str
    name: str


def _calls_of(reply: AIMessage, used_ids: set[str], *, is_own: bool) -> list[_RenamedCall]:
    """The calls of a reply; adds their ids to `used_ids`.

    `is_own`: the receiving model made the ids. They stay if they are unique: Kimi accepts only its
    own form of an id, and LiteLLM keeps signatures in ids.
    """
    calls = []
    for call in (*reply.tool_calls, *reply.invalid_tool_calls):
        name, old = valid_name(call["name"] or ""), call["id"]
        unique = is_own and old and old not in used_ids
        new = old if unique and old else short_id(old or name, used_ids)
        used_ids.add(new)
        calls.append(_RenamedCall(old, new, name))
    return calls


def _with_calls(reply: AIMessage, calls: Sequence[_RenamedCall]) -> AIMessage:
    """`reply` with the ids and names of `calls`, in all places."""
    pairs = zip((*reply.tool_calls, *reply.invalid_tool_calls), calls, strict=True)
    renamed = [{**old, "id": call.id, "name": call.name} for old, call in pairs]
    count = len(reply.tool_calls)
    if renamed[:count] == reply.tool_calls and renamed[count:] == reply.invalid_tool_calls:
        return reply
    ids = {call.old_id: call.id for call in reversed(calls) if call.old_id}
    update = {
        "tool_calls": renamed[:count],
        "invalid_tool_calls": renamed[count:],
        "content": _with_ids_in_blocks(reply.content, calls),
        "additional_kwargs": _with_ids_as_keys(reply.additional_kwargs, ids),
    }
    return reply.model_copy(update=update)


def _with_ids_in_blocks(content: Any, calls: Sequence[_RenamedCall]) -> Any:
    """Anthropic's replies also list their calls in their content, in the same order."""
    if isinstance(content, str):
        return content
    unpaired = list(calls)
    blocks = []
    for block in content:
        old = block.get("id") if isinstance(block, dict) else None
        call = next(
            (candidate for candidate in unpaired if old is not None and candidate.old_id == old),
            None,
        )
        if call is not None:
            unpaired.remove(call)
            block = {**block, "id": call.id, "name": call.name}  # noqa: PLW2901
        blocks.append(block)
    return blocks


def _with_ids_as_keys(kwargs: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """`additional_kwargs`, which have fields and signatures of calls by the ids of the calls."""
    renamed = {
        name: {ids.get(key, key): item for key, item in value.items()}
        if isinstance(value, dict)
        else value
        for name, value in kwargs.items()
        if name != FIELDS
    }
    if fields := kwargs.get(FIELDS):
        calls = {ids.get(key, key): extra for key, extra in fields["calls"].items()}
        renamed[FIELDS] = ReplyFields(message=fields["message"], calls=calls)
    return renamed


def _no_result(call: _RenamedCall) -> ToolMessage:
    return ToolMessage(NO_RESULT, tool_call_id=call.id, name=call.name, status="error")


def _with_text(message: BaseMessage) -> BaseMessage:
    """`message` with a placeholder for blank content."""
    calls = isinstance(message, AIMessage) and (message.tool_calls or message.invalid_tool_calls)
    if isinstance(message.content, str):
        valid = not is_blank(message.content)
    else:  # other blocks than calls may be signed, and a user's blocks may be images
        valid = bool(calls) or not isinstance(message, AIMessage) or not is_blank(message.text)
    if valid:
        return message
    return message.model_copy(update={"content": "" if calls else NO_TEXT})


def _joined(messages: Iterable[BaseMessage]) -> Iterator[BaseMessage]:
    """The messages, with successive messages of the user as one: the templates of some models
    refuse any other order."""
    last: BaseMessage | None = None
    for message in messages:
        if isinstance(last, HumanMessage) and isinstance(message, HumanMessage):
            last = last.model_copy(update={"content": _both(last.content, message.content)})
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _both(first: Any, second: Any) -> Any:
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return [*_blocks(first), *_blocks(second)]


def _blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
