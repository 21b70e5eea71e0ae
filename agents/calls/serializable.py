"""Makes replies serializable. Pure.

Some valid JSON has no form in MessagePack: integers beyond 64 bits, half surrogate pairs in names,
hundreds of levels of nesting.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage

from agents.calls.serializer import SERIALIZER
from agents.models.replies.ending import MALFORMED

UNSERIALIZABLE = "an integer beyond 64 bits, a name that is not valid text, or hundreds of levels"


def make_serializable(message: AIMessage) -> AIMessage:
    """`message`; if `SERIALIZER` cannot write it, then as plain text, with unserializable calls
    marked as malformed, and without any other values that cannot be written."""
    if _fits(message):
        return message
    calls = [
        call if _fits(call["args"]) else {**call, "args": {MALFORMED: UNSERIALIZABLE}}
        for call in message.tool_calls
    ]
    metadata = {key: value for key, value in message.response_metadata.items() if _fits(value)}
    fields = {key: value for key, value in message.additional_kwargs.items() if _fits(value)}
    usage = message.usage_metadata if _fits(message.usage_metadata) else None
    return message.model_copy(
        update={
            "tool_calls": calls,
            "content": str(message.text),  # Anthropic's replies list their calls in it, too
            "response_metadata": metadata,
            "additional_kwargs": fields,
            "usage_metadata": usage,
        }
    )


def _fits(value: Any) -> bool:
    try:
        SERIALIZER.dumps_typed(value)
    except TypeError:
        return False
    return True
