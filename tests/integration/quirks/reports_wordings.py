"""Wordings of refusals and words of endings, as servers in many languages have them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from integration.quirks.reports_endings import broken, ends
from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Quirk,
    ReceivedRequest,
    always,
    answers,
    both,
    first,
    first_call,
    has,
    refuses,
    says,
    second_call,
    sends,
)
from support.quirks.row import (
    Row,
    anthropic,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    succeeds_or_fails,
)
from support.quirks.server import ANSWER

from lab.provider import Reply

_UNKNOWN: dict[str, tuple[int, str]] = {
    "Go": (400, 'json: unknown field "{name}"'),
    "Go, quoted": (400, "invalid request: unknown field `{name}`"),
    "Java": (400, 'Unrecognized field "{name}" (class ChatRequest), not marked as ignorable'),
    "Rust": (
        422,
        (
            "Failed to deserialize the JSON body into the target type: unknown field "
            "`{name}`, expected one of `model`, `messages` at line 1 column 90"
        ),
    ),
    "Pydantic": (
        400,
        (
            "1 validation error for ChatCompletionRequest\n{name}\n  Extra inputs are "
            "not permitted [type=extra_forbidden, input_value=0, input_type=int]"
        ),
    ),
    "Python": (400, "Completions.create() got an unexpected keyword argument '{name}'"),
    "plural": (400, "Unrecognized request arguments supplied: {name}, n"),
    "not allowed": (400, "{name} is not allowed for this model"),
    "JSON schema": (400, "Additional properties are not allowed ('{name}' was unexpected)"),
    "deprecated": (400, "The parameter `{name}` has been deprecated and must not be set."),
    "not supported yet": (400, "Parameter '{name}' is not supported yet"),
    "Portuguese word order": (400, "unsupported parameter(s): {name}"),
    "Chinese": (400, "参数 {name} 不支持 (parameter {name} is not supported)"),
}
"""A server's refusal of an unknown field: its status, and its words."""


def _refused_as(provider: str, name: str, title: str, **more: Any) -> Row:
    status, words = _UNKNOWN[provider]
    return openai(
        f"{title} is refused in the words of {provider}",
        refuses(has(name), status, words.replace("{name}", name)),
        **more,
    )


def _cut(reply: Reply) -> Reply:
    return replace(
        reply,
        stop="length",
        tool_calls=tuple(replace(call, args='{"code": "print(6') for call in reply.tool_calls),
    )


def _null_content(received: ReceivedRequest) -> bool:
    return any(
        message["role"] == "assistant" and message.get("content") is None
        for message in received.body["messages"]
    )


_BAD = ("insufficient_system_resource", "ERROR", "server_error", "cancelled", "timeout")
"""Words of endings that mean that the reply is not complete."""

ROWS: list[Row] = [
    *[
        _refused_as(provider, name, title)
        for provider in _UNKNOWN
        for name, title in (
            ("stream_options", "stream_options"),
            ("temperature", "temperature"),
            ("tool_choice", "tool_choice"),
        )
    ],
    openai(
        "a temperature of 0 is refused (TGI)",
        refuses(
            has("temperature"),
            422,
            "Input validation error: `temperature` must be strictly positive",
        ),
    ),
    openai(
        "tool_choice matches no variant (Rust)",
        refuses(
            has("tool_choice"),
            422,
            "Failed to deserialize the JSON body into the target type: "
            "tool_choice: data did not match any variant of untagged enum ToolChoice at line 1 "
            "column 900",
        ),
    ),
    openai(
        "a null content is refused (Rust)",
        refuses(
            _null_content,
            400,
            "Failed to deserialize the JSON body into the target type: "
            "messages[2].content: invalid type: null, expected a string at line 1 column 500",
        ),
    ),
    openai(
        "a missing content is refused (Rust)",
        refuses(
            _null_content,
            422,
            "Failed to deserialize the JSON body into the target type: "
            "messages[2]: missing field `content` at line 1 column 500",
        ),
    ),
    openai(
        "streams need a verified organization",
        refuses(
            has("stream"),
            400,
            "Your organization must be verified to stream this model. Please go to "
            "the settings and click on Verify Organization.",
            param="stream",
            code="unsupported_value",
        ),
    ),
    openai(
        "the model is of another endpoint",
        refuses(
            always,
            404,
            "This model is only supported in v1/responses and not in v1/chat/completions.",
        ),
        end=fails("v1/responses"),
    ),
    openai(
        "a prompt is filtered (Azure)",
        refuses(
            second_call,
            400,
            "The response was filtered due to the prompt triggering Azure OpenAI's "
            "content management policy.",
            code="content_filter",
            param="prompt",
        ),
        stand_in=(),
        end=fails("content management policy"),
    ),
    openai(
        "the answer was filtered as sensitive (GLM)",
        broken("sensitive", second_call),
        end=succeeds_or_fails(""),
        answer="It prints",
    ),
    *[
        openai(f"half a sentence ends with {word}, once", broken(word, SECOND_CALL_ONCE))
        for word in _BAD
    ],
    *on_all(
        "the answer is cut at its limit, once",
        says(lambda _reply: Reply("It prints forty-", stop="length"), SECOND_CALL_ONCE),
    ),
    *on_all("the call is cut at its limit, once", says(_cut, both(first_call, first()))),
    *on_all(
        "thoughts use up the limit, once",
        says(lambda _reply: Reply("", thoughts="I wonder", stop="length"), SECOND_CALL_ONCE),
    ),
    *on_all(
        "thoughts always use up the limit: the stand-in answers",
        says(lambda _reply: Reply("", thoughts="I wonder", stop="length"), second_call),
        stand_in=(),
    ),
    *on_all(
        "thoughts always use up the limit: the setting is named",
        says(lambda _reply: Reply("", thoughts="I wonder", stop="length"), second_call),
        end=fails("FETTLE_MAX_OUTPUT_TOKENS"),
    ),
    anthropic(
        "the context is full, once", broken("model_context_window_exceeded", SECOND_CALL_ONCE)
    ),
    anthropic(
        "the key is for another program",
        refuses(
            always,
            400,
            "This credential is only authorized for use with Claude Code and cannot be "
            "used for other API requests.",
        ),
        end=fails("credential"),
    ),
    gemini(
        "the reason MAX_TOKENS comes without parts, once",
        Quirk(
            say=says(lambda _reply: Reply(""), SECOND_CALL_ONCE).say,
            send=ends("MAX_TOKENS", SECOND_CALL_ONCE).send,
        ),
    ),
    ollama(
        "the done reason is length, once",
        Quirk(
            say=says(lambda _reply: Reply("It pri"), SECOND_CALL_ONCE).say,
            send=ends("length", SECOND_CALL_ONCE).send,
        ),
    ),
    openai(
        "a second finish reason follows the first",
        sends(
            lambda sent: replace(
                sent,
                items=[
                    *sent.items[:-2],
                    {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
                    *sent.items[-2:],
                ],
            )
        ),
    ),
    openai(
        "bytes that are not UTF-8 are in the text",
        sends(
            lambda sent: replace(
                sent,
                items=[
                    sent.items[0],
                    b'data: {"choices": [{"index": 0, "delta": {"reasoning": "\xff"}}]}\n\n',
                    *sent.items[1:],
                ],
            )
        ),
    ),
    *on_all(
        "a body says that it is packed, and is not, once",
        answers(
            SECOND_CALL_ONCE, 200, b"data: {}\n\n", "text/event-stream", content_encoding="gzip"
        ),
    ),
    openai(
        "a whole reply is within an array",
        answers(
            SECOND_CALL_ONCE,
            200,
            json.dumps(
                [
                    {
                        "id": "x",
                        "object": "chat.completion",
                        "created": 0,
                        "model": "m",
                        "choices": [
                            {
                                "index": 0,
                                "finish_reason": "stop",
                                "message": {"role": "assistant", "content": ANSWER},
                            }
                        ],
                    }
                ]
            ),
        ),
    ),
]
