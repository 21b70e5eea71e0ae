"""Keepable: replies as a record can hold them. Pure.

What is valid JSON need not be: whole numbers beyond 64 bits, names with half a surrogate pair, and
hundreds of levels have no form in MessagePack.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.models import MALFORMED

UNKEPT = "a whole number beyond 64 bits, a name that is no text, or hundreds of levels"
_INSTEAD = {MALFORMED: UNKEPT}


def keepable(message: AIMessage, serde: JsonPlusSerializer) -> AIMessage:
    """`message`, those of its calls whose arguments `serde` cannot write as malformed ones, and
    without what it tells of itself that cannot be written either."""
    told = {key: value for key, value in message.response_metadata.items() if _fits(value, serde)}
    if len(told) < len(message.response_metadata):
        message = message.model_copy(update={"response_metadata": told})
    if not _fits(message.usage_metadata, serde):
        message = message.model_copy(update={"usage_metadata": None})
    return _with_calls(message, serde)


def _with_calls(message: AIMessage, serde: JsonPlusSerializer) -> AIMessage:
    if all(_fits(call["args"], serde) for call in message.tool_calls):
        return message
    calls = [
        call if _fits(call["args"], serde) else {**call, "args": _INSTEAD}
        for call in message.tool_calls
    ]
    content = message.content
    if not isinstance(content, str):  # Anthropic's replies hold their calls here, too
        content = [_block(each, serde) for each in content]
    return message.model_copy(update={"tool_calls": calls, "content": content})


def _block(block: str | dict[Any, Any], serde: JsonPlusSerializer) -> str | dict[Any, Any]:
    if isinstance(block, dict) and not _fits(block.get("input"), serde):
        return {**block, "input": _INSTEAD}
    return block


def _fits(value: Any, serde: JsonPlusSerializer) -> bool:
    try:
        serde.dumps_typed(value)
    except TypeError:
        return False
    return True
