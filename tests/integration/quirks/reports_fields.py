"""Fields of a reply that the server needs back, and fields that it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_delta
from support.quirks.quirk import (
    Quirk,
    ReceivedRequest,
    When,
    both,
    first,
    first_call,
    plays,
    refuses,
    role,
    says,
    second_call,
)
from support.quirks.refusals import DEEPSEEK_THOUGHTS, GEMINI_SIGNATURE, KIMI_THOUGHTS
from support.quirks.row import Row, anthropic, gemini, ollama, on_all, openai
from support.quirks.server import CODE, calls

from lab.provider import Cut, Refusal, ToolCall
from lab.provider.turn import SIGNATURE

THOUGHTS = "The product of six and seven is needed, so a short program is the way."
_EXECUTOR = role("executor")

thinks = says(lambda reply: replace(reply, thoughts=THOUGHTS))
"""A model that shows its thoughts."""


def _assistant(received: ReceivedRequest) -> list[Mapping[str, Any]]:
    """The model's messages of a request in OpenAI's or Ollama's format."""
    return [message for message in received.body["messages"] if message["role"] == "assistant"]


def _lacks(name: str, value: Any) -> When:
    """Whether one of the model's messages with calls has not this field."""

    def lacking(received: ReceivedRequest) -> bool:
        messages = [assistant for assistant in _assistant(received) if assistant.get("tool_calls")]
        return any(message.get(name) != value for message in messages)

    return both(_EXECUTOR, lacking)


def _has_field(*names: str) -> When:
    """Whether one of the model's messages has one of these fields."""

    def has_field(received: ReceivedRequest) -> bool:
        return any(
            message.get(name) is not None for message in _assistant(received) for name in names
        )

    return has_field


def _renamed(name: str) -> Quirk:
    """Thoughts in another field."""

    def edit(delta: dict[str, Any]) -> None:
        for old in ("reasoning_content", "reasoning"):
            if old in delta and old != name:
                delta[name] = delta.pop(old)

    return each_delta(edit)


def _with_call(extra: Mapping[str, Any]) -> Quirk:
    """More fields in the first part of each streamed call."""

    def edit(delta: dict[str, Any]) -> None:
        for part in delta.get("tool_calls") or ():
            if part.get("id"):
                part.update(extra)

    return each_delta(edit)


def _calls_lack(name: str, value: Any) -> When:
    def lacking(received: ReceivedRequest) -> bool:
        sent = [
            call for message in _assistant(received) for call in message.get("tool_calls") or ()
        ]
        return any(call.get(name) != value for call in sent)

    return both(_EXECUTOR, lacking)


_EXTRA = {"google": {"thought_signature": SIGNATURE}}
_DETAILS = [
    {"type": "reasoning.text", "text": "The product", "signature": "s1", "index": 0},
    {"type": "reasoning.encrypted", "data": "e30=", "id": "rs_1", "index": 1},
]


def _at_first_delta(fields: Callable[[], Mapping[str, Any]]) -> Quirk:
    """More fields in the first delta of each reply."""

    def edit(delta: dict[str, Any]) -> None:
        if "role" in delta:
            delta.update(fields())

    return each_delta(edit)


def _blocks(received: ReceivedRequest) -> list[Mapping[str, Any]]:
    """The blocks of Claude's own messages."""
    return [
        block
        for message in received.body["messages"]
        if message["role"] == "assistant" and not isinstance(message["content"], str)
        for block in message["content"]
    ]


def _claude_lacks_thoughts(received: ReceivedRequest) -> bool:
    blocks = _blocks(received)
    used = [block for block in blocks if block["type"] == "tool_use"]
    thoughts = [block for block in blocks if block["type"] == "thinking"]
    right = all(
        block["thinking"] == THOUGHTS and block["signature"] == SIGNATURE for block in thoughts
    )
    return bool(used) and not (len(thoughts) == len(used) and right)


def _gemini_lacks_signature(received: ReceivedRequest) -> bool:
    parts = [part for content in received.body["contents"] for part in content["parts"]]
    calls_ = [part for part in parts if "functionCall" in part]
    return any(part.get("thoughtSignature") != SIGNATURE for part in calls_)


def _lacks_reasoning(received: ReceivedRequest) -> bool:
    return not all(message.get("reasoning_content") for message in _assistant(received))


def _has_reasoning(received: ReceivedRequest) -> bool:
    return any("reasoning_content" in message for message in _assistant(received))


ROWS: list[Row] = [
    openai(
        "Kimi needs reasoning_content back with each tool call",
        thinks,
        refuses(_lacks("reasoning_content", THOUGHTS), 400, KIMI_THOUGHTS),
    ),
    openai(
        "Kimi needs reasoning_content back in a conversation of two calls",
        thinks,
        refuses(_lacks("reasoning_content", THOUGHTS), 400, KIMI_THOUGHTS),
        model=calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE})),
    ),
    openai(
        "DeepSeek v4 needs reasoning_content back",
        thinks,
        refuses(_lacks("reasoning_content", THOUGHTS), 400, DEEPSEEK_THOUGHTS, param=None),
        name="deepseek:deepseek-v4-flash",
    ),
    openai(
        "reasoning_content is needed back by a model that OpenAI's client calls",
        thinks,
        refuses(_lacks("reasoning_content", THOUGHTS), 400, DEEPSEEK_THOUGHTS),
        name="openai:gpt-4.1-mini",
    ),
    openai(
        "vLLM's field `reasoning` is needed back",
        thinks,
        _renamed("reasoning"),
        refuses(_lacks("reasoning", THOUGHTS), 400, "reasoning is missing"),
    ),
    openai(
        "Gemini over its OpenAI endpoint needs the signature of each call back",
        _with_call({"extra_content": _EXTRA}),
        refuses(
            _calls_lack("extra_content", _EXTRA), 400, GEMINI_SIGNATURE, status="INVALID_ARGUMENT"
        ),
    ),
    openai(
        "a gateway puts the signature into provider_specific_fields, and needs it back",
        _with_call({"provider_specific_fields": {"thought_signature": SIGNATURE}}),
        refuses(
            _calls_lack("provider_specific_fields", {"thought_signature": SIGNATURE}),
            400,
            GEMINI_SIGNATURE,
        ),
    ),
    openai(
        "OpenRouter needs reasoning_details back",
        _at_first_delta(lambda: {"reasoning_details": [dict(detail) for detail in _DETAILS]}),
        refuses(_lacks("reasoning_details", _DETAILS), 400, "reasoning_details are missing"),
        name="openrouter:google/gemini-3-pro",
    ),
    openai(
        "reasoning_details are needed back by a compatible gateway",
        _at_first_delta(lambda: {"reasoning_details": [dict(detail) for detail in _DETAILS]}),
        refuses(_lacks("reasoning_details", _DETAILS), 400, "reasoning_details are missing"),
    ),
    openai(
        "a field of the message that no client knows is needed back",
        _at_first_delta(lambda: {"thinking_blocks": [{"type": "thinking", "signature": "s"}]}),
        refuses(
            _lacks("thinking_blocks", [{"type": "thinking", "signature": "s"}]),
            400,
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
    ),
    openai(
        "reasoning_content is needed back after the job was given to another worker",
        thinks,
        refuses(_lacks("reasoning_content", THOUGHTS), 400, KIMI_THOUGHTS),
        plays(both(second_call, first(5)), Refusal(503, "Loading model")),
        attempts=2,
    ),
    openai(
        "Groq refuses `reasoning` in a message",
        thinks,
        refuses(_has_field("reasoning"), 400, "'messages.2' : property 'reasoning' is unsupported"),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "thoughts are shown, and refused when they are sent back",
        thinks,
        refuses(
            _has_field("reasoning_content"),
            400,
            "messages.2.reasoning_content: Extra inputs are not permitted",
        ),
    ),
    openai(
        "thoughts are shown, and refused with FastAPI's list of details",
        thinks,
        refuses(
            _has_field("reasoning_content"),
            422,
            json.dumps(
                [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "messages", 2, "assistant", "reasoning_content"],
                        "msg": "Extra inputs are not permitted",
                    }
                ]
            ),
        ),
    ),
    openai(
        "a stand-in refuses the fields of the model before it",
        thinks,
        plays(second_call, Refusal(401, "Invalid API Key")),
        stand_in=[refuses(_has_field("reasoning_content"), 400, "reasoning_content is unknown")],
        stand_in_name="openai:gpt-4.1-mini",
    ),
    openai(
        "a stand-in does not know the signature of another provider's call",
        _with_call({"extra_content": _EXTRA}),
        plays(second_call, Refusal(401, "Invalid API Key")),
        stand_in=[
            refuses(
                lambda received: "extra_content" in json.dumps(received.body["messages"]),
                400,
                "extra_content: Extra inputs are not permitted",
            )
        ],
    ),
    anthropic(
        "Claude needs its signed thoughts back",
        thinks,
        refuses(
            both(_EXECUTOR, _claude_lacks_thoughts),
            400,
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found "
            "`tool_use`.",
        ),
        name="anthropic:claude-sonnet-4-6",
    ),
    anthropic(
        "Claude needs its signed thoughts back after the job was given to another worker",
        thinks,
        refuses(both(_EXECUTOR, _claude_lacks_thoughts), 400, "Expected `thinking`"),
        plays(both(second_call, first(5)), Refusal(529, "Overloaded")),
        attempts=2,
    ),
    gemini(
        "Gemini needs its thought signature back",
        thinks,
        refuses(both(_EXECUTOR, _gemini_lacks_signature), 400, GEMINI_SIGNATURE),
        name="google_genai:gemini-3-flash",
    ),
    gemini(
        "Gemini needs its thought signature back after the job was given to another worker",
        thinks,
        refuses(both(_EXECUTOR, _gemini_lacks_signature), 400, GEMINI_SIGNATURE),
        plays(both(second_call, first(5)), Cut()),
        attempts=2,
    ),
    ollama("thoughts come before each call", thinks),
    ollama(
        "a proxy needs thinking back",
        thinks,
        refuses(_lacks("thinking", THOUGHTS), 400, "thinking is missing"),
    ),
    *on_all(
        "thoughts of one model, an answer of its stand-in",
        thinks,
        plays(second_call, Refusal(401, "Invalid API Key")),
        stand_in=(),
    ),
    *on_all("thoughts in each reply", thinks),
    *on_all(
        "thoughts and a text before the call",
        thinks,
        says(lambda reply: replace(reply, text="I run it."), first_call),
    ),
    *[
        openai(f"reasoning_content is needed: {words}", refuses(_lacks_reasoning, 400, words))
        for words in (
            "reasoning_content cannot be empty for assistant tool call messages",
            "thinking mode: please pass back reasoning_content",
        )
    ],
    *[
        openai(
            f"reasoning_content is refused: {words}",
            refuses(_has_reasoning, 400, words),
            says(lambda reply: replace(reply, thoughts="It wants a run.")),
        )
        for words in (
            "Please remove reasoning_content from messages",
            "assistant message must not contain reasoning_content",
        )
    ],
    *[
        gemini(
            f"a signature is refused: {words}",
            refuses(lambda received: "thoughtSignature" in json.dumps(received.body), 400, words),
            says(lambda reply: replace(reply, thoughts="It wants a run.")),
        )
        for words in ("Corrupted thought signature.", "Thought signature is not valid")
    ],
]
