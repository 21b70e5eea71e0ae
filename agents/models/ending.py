"""Why a model stopped talking."""

from __future__ import annotations

from langchain_core.messages import AIMessage

# Groq's and OpenAI's word, and Gemini's.
_CUT_OFF = frozenset({"length", "MAX_TOKENS"})


def cut_off(message: AIMessage) -> bool:
    """Whether the reply ended at the limit on output tokens, so that its end is missing."""
    return message.response_metadata.get("finish_reason") in _CUT_OFF


def malformed(message: AIMessage) -> bool:
    """Whether the reply has a tool call that cannot be read, and none that can.

    To an agent's loop it looks like a final answer, often an empty one; it is none.
    """
    garbled = message.response_metadata.get("finish_reason") == "MALFORMED_FUNCTION_CALL"
    return not message.tool_calls and (garbled or bool(message.invalid_tool_calls))
