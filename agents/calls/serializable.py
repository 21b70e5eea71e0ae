"""Keepable: replies as a record can hold them. Pure.

What is valid JSON need not be: whole numbers beyond 64 bits, names with half a surrogate pair, and
hundreds of levels have no form in MessagePack.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from agents.models import MALFORMED

UNSERIALIZABLE = "a whole number beyond 64 bits, a name that is no text, or hundreds of levels"


def make_serializable(message: AIMessage, serde: JsonPlusSerializer) -> AIMessage:
    """`message`; where `serde` cannot write it, with those of its calls whose arguments are the
    cause as malformed ones, as plain text, and without what else cannot be written."""
    if _fits(message, serde):
        return message
    calls = [
        call if _fits(call["args"], serde) else {**call, "args": {MALFORMED: UNSERIALIZABLE}}
        for call in message.tool_calls
    ]
    metadata = {
        key: value for key, value in message.response_metadata.items() if _fits(value, serde)
    }
    usage = message.usage_metadata if _fits(message.usage_metadata, serde) else None
    return message.model_copy(
        update={
            "tool_calls": calls,
            "content": str(message.text),  # Anthropic's replies hold their calls in it, too
            "response_metadata": metadata,
            "usage_metadata": usage,
        }
    )


def _fits(value: Any, serde: JsonPlusSerializer) -> bool:
    try:
        serde.dumps_typed(value)
    except TypeError:
        return False
    return True
