"""Why a reply ended."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall

MALFORMED = "malformed_arguments"
"""The only argument of a call whose arguments were not valid JSON: their text."""

_REASONS = ("finish_reason", "stop_reason", "done_reason")
"""The key in OpenAI's, Groq's and Gemini's replies, in Anthropic's, and in Ollama's."""
_CUT_OFF = frozenset({"length", "MAX_TOKENS", "max_tokens", "model_context_window_exceeded"})


def cut_off(message: AIMessage) -> bool:
    """Whether the reply ended at the limit on output tokens, so that its end is missing."""
    return _reason(message) in _CUT_OFF


def output_tokens(message: AIMessage) -> int:
    """The tokens of the reply by the provider's count; 0 if it sent none."""
    return message.usage_metadata["output_tokens"] if message.usage_metadata else 0


def malformed(message: AIMessage) -> bool:
    """Whether the reply has a tool call that cannot be read, and none that can.

    An agent's loop would take it for a final answer, often an empty one.
    """
    garbled = _reason(message) == "MALFORMED_FUNCTION_CALL"
    return not message.tool_calls and (garbled or bool(message.invalid_tool_calls))


def separate_broken_calls(message: AIMessage) -> AIMessage:
    """`message` with the calls without valid JSON among its invalid ones."""
    broken = [call for call in message.tool_calls if set(call["args"]) == {MALFORMED}]
    if not broken:
        return message
    invalid = [
        InvalidToolCall(
            name=call["name"],
            args=str(call["args"][MALFORMED]),
            id=call["id"],
            error="not valid JSON",
            type="invalid_tool_call",
        )
        for call in broken
    ]
    calls = [call for call in message.tool_calls if call not in broken]
    update = {"tool_calls": calls, "invalid_tool_calls": [*message.invalid_tool_calls, *invalid]}
    return message.model_copy(update=update)


def _reason(message: AIMessage) -> Any:
    reasons = (message.response_metadata.get(name) for name in _REASONS)
    return next((reason for reason in reasons if reason), None)
