"""The finish reason of a reply, and whether the reply is an answer.

A reply is an answer if it has a text or a call, and no ending that is known to be bad. Servers have
many words for a good ending, so an unknown word is accepted.

See ADR 76.
"""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import AIMessage, InvalidToolCall

from agents.errors import ErrorKind, ModelRefused, ReplyUnusable
from agents.texts import is_blank

MALFORMED = "malformed_arguments"
"""The only argument of a call that had invalid JSON: the text of its arguments."""

_REASONS = ("finish_reason", "stop_reason", "done_reason")
"""The key in OpenAI's, Groq's and Gemini's replies, in Anthropic's, and in Ollama's."""

# All words are compared in lower case. Gateways write the words of the provider behind them.
_CUT_OFF = re.compile(r"length|max_|token_limit|truncated|incomplete|context_window")
_DECLINED = re.compile(
    r"filter|refus|guardrail|moderation|blocked|sensitive"  # the last is Zhipu's
    # Gemini: https://ai.google.dev/api/generate-content#FinishReason
    r"|safety|prohibited|blocklist|spii|recitation"
)
_BROKEN_CALL = frozenset({"malformed_function_call", "malformed_tool_use"})
_MISTAKES = frozenset(
    {
        "other",
        "language",
        "unexpected_tool_call",
        "too_many_tool_calls",
        "malformed_response",
        "malformed_model_output",
        "missing_thought_signature",
        "finish_reason_unspecified",
        "no_image",
        "image_other",
        "repetition",  # vLLM
        "pause_turn",
    }
)
_BROKE_OFF = re.compile(
    r"error|exception|abort|cancel|fail|crash|kill|timeout|timed_out|time_limit|interrupt|disconnect"
    r"|closed|insufficient|overload|unavailable"
)
"""Faults of the server, such as `network_error` and `insufficient_system_resource`."""

_MORE_TOKENS = "set FETTLE_MAX_OUTPUT_TOKENS higher, or let the model think less"

_THOUGHTS = re.compile("reasoning|thinking")
"""Parts of the names of fields with thoughts."""


def cut_off(message: AIMessage) -> bool:
    """Whether the reply ended at the limit on output tokens, so that its end is missing."""
    return bool(_CUT_OFF.search(_reason(message)))


def output_tokens(message: AIMessage) -> int:
    """The tokens of the reply by the provider's count; 0 if it sent none."""
    return message.usage_metadata["output_tokens"] if message.usage_metadata else 0


def malformed(message: AIMessage) -> bool:
    """Whether the reply has a tool call that cannot be read, and none that can."""
    broken = _reason(message) in _BROKEN_CALL or bool(message.invalid_tool_calls)
    return broken and not message.tool_calls


def notable_finish(message: AIMessage) -> str | None:
    """The finish reason of a reply that was cut off, is malformed or is empty; None for others."""
    empty = not (str(message.text) or message.tool_calls or message.invalid_tool_calls)
    if not (cut_off(message) or malformed(message) or empty):
        return None
    return str(message.response_metadata.get("finish_reason") or "stop")


def require_answer(message: AIMessage, *, has_thoughts: bool = False) -> None:
    """Raise ReplyUnusable unless the reply is an answer; ModelRefused if the model declined.

    `has_thoughts`: thoughts were removed from its text. A text that was cut off, and a call with
    broken arguments, are for the caller.
    """
    word, text = _word(message), str(message.text)
    reason = word.lower()
    if _DECLINED.search(reason):
        declined = f"the model declined to answer ({word})" + (f": {text}" if text else "")
        raise ModelRefused(declined, status=200, kind=ErrorKind.POLICY)
    if _BROKE_OFF.search(reason):
        raise ReplyUnusable(f"ended with `{reason}`", text=text, reply=message, transient=True)
    if mistake := _mistake(message, reason, text, has_thoughts or _has_thoughts(message)):
        advice = _MORE_TOKENS if cut_off(message) else ""
        raise ReplyUnusable(mistake, text=text, reply=message, advice=advice)


def _mistake(message: AIMessage, reason: str, text: str, has_thoughts: bool) -> str | None:
    """What the model did wrong; completes "The reply ..."."""
    if reason in _MISTAKES:
        return f"ended with `{reason}`"
    if message.tool_calls or message.invalid_tool_calls:
        return None
    if reason in _BROKEN_CALL:
        return "has a tool call that is not valid"
    if not is_blank(text):
        return None
    if cut_off(message):
        tokens = f" ({count} tokens)" if (count := output_tokens(message)) else ""
        return f"was cut off at the limit on its length{tokens} before it had an answer"
    return "has thoughts, and no answer" if has_thoughts else "is empty"


def _has_thoughts(message: AIMessage) -> bool:
    """Whether a reply without a text has other content: thoughts are the only one that models
    write, in blocks or in a field of their own."""
    blocks = any(isinstance(block, dict) for block in message.content)
    return blocks or bool(_THOUGHTS.search(str(message.additional_kwargs)))


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


def _reason(message: AIMessage) -> str:
    """The reason in lower case; empty if the reply has none."""
    return _word(message).lower()


def _word(message: AIMessage) -> str:
    """The reason as the server wrote it; empty if the reply has none."""
    reasons: list[Any] = [message.response_metadata.get(name) for name in _REASONS]
    return next((str(reason) for reason in reasons if reason), "")
