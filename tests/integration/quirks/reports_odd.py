"""Rare behaviours from public reports: odd shapes of replies, and odd answers of proxies."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from support.quirks.edits import (
    arguments_json,
    as_text,
    each_call_part,
    each_choice,
    each_delta,
    with_calls,
)
from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    When,
    always,
    answers,
    both,
    each_event,
    first,
    first_call,
    has,
    refuses,
    role,
    says,
    second_call,
    sends,
)
from support.quirks.row import (
    Row,
    anthropic,
    does_not_succeed,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    succeeds_or_fails,
    waits,
)
from support.quirks.server import CODE, calls

from lab.provider import Reply, ToolCall


def _without_model_fields(received: ReceivedRequest) -> bool:
    return received.request.headers.get("content-type", "").partition(";")[0] != "application/json"


def _repeats_arguments(sent: Sent) -> Sent:
    """vLLM: the last part of a call has all its arguments once more."""
    parts = [
        item["choices"][0]["delta"]["tool_calls"][0]
        for item in sent.items
        if isinstance(item, dict)
        and item.get("choices")
        and item["choices"][0]["delta"].get("tool_calls")
    ]
    if not parts:
        return sent
    parts[-1]["function"]["arguments"] += "".join(part["function"]["arguments"] for part in parts)
    return sent


def _legacy(sent: Sent) -> Sent:
    """Calls in the older field `function_call`."""

    def edit(event: Event) -> Event:
        for choice in event.get("choices") or ():
            parts = choice["delta"].pop("tool_calls", None)
            if parts:
                choice["delta"]["function_call"] = parts[0]["function"]
            if choice["finish_reason"] == "tool_calls":
                choice["finish_reason"] = "function_call"
        return event

    return sent.with_events(edit)


def _as_object(delta: dict[str, Any]) -> None:
    """`tool_calls` is one object and no list."""
    if delta.get("tool_calls"):
        delta["tool_calls"] = delta["tool_calls"][0]


def _flat_calls(part: dict[str, Any]) -> None:
    """Names and arguments outside of `function`."""
    part.update(part.pop("function"))


def _wrapped(name: str, when: When) -> Quirk:
    """All arguments are within one more object."""
    return says(with_calls(lambda call: replace(call, args={name: call.args})), when)


def _litellm(message: str) -> str:
    """The body of an error, as LiteLLM's proxy sends it."""
    return json.dumps({"error": {"message": message, "type": None, "param": None, "code": "400"}})


ROWS: list[Row] = [
    openai(
        "arguments are repeated at the end (vLLM)",
        sends(_repeats_arguments),
        end=succeeds_or_fails(""),
    ),
    openai(
        "calls are in the older field function_call",
        sends(_legacy),
        end=succeeds_or_fails(""),
        plan="model",
    ),
    openai("tool_calls is an object", each_delta(_as_object), end=succeeds_or_fails("")),
    openai("calls have no object `function`", each_call_part(_flat_calls)),
    openai(
        "a content is a number",
        each_delta(
            lambda delta: delta.update(content=42) if delta.get("content") else None,
            SECOND_CALL_ONCE,
        ),
    ),
    openai(
        "choices are an object",
        each_event(
            lambda event: {**event, "choices": {"0": event.get("choices")}}, SECOND_CALL_ONCE
        ),
    ),
    openai(
        "the event is a list of events",
        each_event(lambda event: b"data: " + json.dumps([event]).encode() + b"\n\n"),
    ),
    openai(
        "created is a text and ids are numbers",
        each_event(lambda event: {**event, "id": 5, "created": "2026-01-01", "model": None}),
    ),
    openai(
        "the object is of another kind",
        each_event(lambda event: {**event, "object": "text_completion.chunk"}),
    ),
    openai(
        "the role is of another speaker",
        each_delta(lambda delta: delta.update(role="model") if delta.get("role") else None),
    ),
    openai(
        "the text comes at once in the event with the finish reason",
        sends(lambda sent: sent.with_events(lambda event: event)),
        each_choice(
            lambda choice: choice["delta"].update(content="") if choice["finish_reason"] else None
        ),
    ),
    *on_all(
        "arguments are within an object `arguments`, once",
        _wrapped("arguments", both(first_call, first())),
    ),
    *on_all(
        "arguments are within an object with the tool's name, once",
        _wrapped("python", both(first_call, first())),
    ),
    *on_all(
        "the plan is within its schema's object, once",
        _wrapped("properties", both(role("planner"), first())),
    ),
    *on_all(
        "the verdict is within its tool's name, once",
        _wrapped("Verdict", both(role("critic"), first())),
    ),
    *on_all(
        "a huge text before the call",
        says(lambda reply: replace(reply, text="I think. " * 3_000), first_call),
    ),
    *on_all(
        "characters outside the basic plane, and half of one",
        says(lambda reply: replace(reply, text="\U0001f600 \ud83d "), first_call),
    ),
    *on_all(
        "control characters in the text",
        says(lambda reply: replace(reply, text="\x00\x07\x1b[31m I run."), first_call),
    ),
    openai(
        "refusal is an empty text in each delta", each_delta(lambda delta: delta.update(refusal=""))
    ),
    openai(
        "the model says it declines",
        says(lambda _reply: Reply(refusal="I can not help with that."), second_call),
        end=fails("declined"),
    ),
    *on_all(
        "the plan and the verdict are text, then calls are refused",
        says(as_text(arguments_json), role("planner", "critic")),
    ),
    *[
        row(
            f"a refusal with status {status} keeps its words",
            refuses(always, status, "The flux capacitor fails"),
            end=does_not_succeed("flux capacitor"),
        )
        for status in (
            402,
            403,
            406,
            409,
            411,
            415,
            421,
            422,
            451,
            499,
            500,
            501,
            502,
            504,
            520,
            599,
        )
        for row in (openai,)
    ],
    *[
        row(
            "too many requests without end",
            refuses(always, 429, "Rate limit reached for x"),
            end=waits("Rate limit reached"),
        )
        for row in (openai, anthropic, gemini, ollama)
    ],
    openai(
        "an error has a null message",
        refuses(always, 400, None, code="odd_code"),  # type: ignore[arg-type]
        end=fails("odd_code"),
    ),
    openai(
        "an error's message is an object",
        answers(always, 400, '{"error": {"message": {"detail": "The flux capacitor fails"}}}'),
        end=fails("flux capacitor"),
    ),
    openai(
        "an error's message is a list",
        answers(
            always, 422, '{"message": [{"msg": "The flux capacitor fails", "loc": ["body", "x"]}]}'
        ),
        end=fails("flux capacitor"),
    ),
    openai(
        "an error is within an array",
        answers(always, 400, '[{"error": {"code": 400, "message": "The flux capacitor fails"}}]'),
        end=fails("flux capacitor"),
    ),
    openai(
        "an error is in the header alone",
        answers(always, 400, b"", "text/plain", x_error="The flux capacitor fails"),
        end=fails("400"),
    ),
    openai(
        "an error is a stream with status 400",
        answers(
            always,
            400,
            b'data: {"error": {"message": "The flux capacitor fails"}}\n\n',
            "text/event-stream",
        ),
        end=fails("flux capacitor"),
    ),
    openai(
        "an error is encoded twice",
        answers(
            always, 400, json.dumps({"error": json.dumps({"message": "The flux capacitor fails"})})
        ),
        end=fails("flux capacitor"),
    ),
    openai(
        "an error is a Python text (LiteLLM)",
        answers(
            always,
            400,
            _litellm("Error code: 400 - {'error': {'message': 'The flux capacitor fails'}}"),
        ),
        end=fails("flux capacitor"),
    ),
    openai(
        "temperature is refused within LiteLLM's text",
        answers(
            has("temperature"),
            400,
            _litellm(
                "litellm.BadRequestError: OpenAIException - Error code: 400 - {'error': {"
                "'message': \"Unsupported value: 'temperature' does not support 0.0 with this "
                "model.\", 'param': 'temperature', 'code': 'unsupported_value'}}"
            ),
        ),
    ),
    openai(
        "a parameter is refused with status 500",
        refuses(has("stream_options"), 500, "Unexpected keyword argument 'stream_options'"),
        end=does_not_succeed("stream_options"),
    ),
    openai(
        "content types other than JSON are refused",
        refuses(_without_model_fields, 415, "Unsupported Media Type"),
    ),
    openai(
        "the key is sent in no request without one",
        refuses(
            lambda received: "authorization" not in received.request.headers, 401, "Missing key"
        ),
    ),
    ollama(
        "the model is thinking in its text",
        says(
            lambda reply: replace(reply, text=f"<think>x</think>{reply.text}" if reply.text else "")
        ),
    ),
    ollama(
        "the reply's role is missing",
        each_event(
            lambda line: {
                **line,
                "message": {
                    name: value for name, value in line["message"].items() if name != "role"
                },
            }
        ),
    ),
    ollama(
        "a last line without a message",
        each_event(
            lambda line: {k: v for k, v in line.items() if k != "message"} if line["done"] else line
        ),
    ),
    ollama(
        "tool_calls is null in each line",
        each_event(lambda line: {**line, "message": {"tool_calls": None, **line["message"]}}),
    ),
    ollama(
        "calls come with the last line",
        sends(
            lambda sent: replace(
                sent, items=[{**sent.items[-1], "message": sent.items[0]["message"]}]
            ),  # type: ignore[dict-item, index]
            first_call,
        ),
    ),
    gemini(
        "a candidate has no index",
        each_event(
            lambda event: {
                **event,
                "candidates": [
                    {k: v for k, v in c.items() if k != "index"} for c in event["candidates"]
                ],
            }
        ),
    ),
    gemini(
        "a content has no role",
        each_event(
            lambda event: {
                **event,
                "candidates": [
                    {**c, "content": {"parts": c["content"]["parts"]}} for c in event["candidates"]
                ],
            }
        ),
    ),
    gemini(
        "a part of a kind that no client knows",
        each_event(
            lambda event: {
                **event,
                "candidates": [
                    {
                        **c,
                        "content": {
                            "role": "model",
                            "parts": [*c["content"]["parts"], {"oddPart": {"x": 1}}],
                        },
                    }
                    for c in event["candidates"]
                ],
            },
            first_call,
        ),
    ),
    gemini(
        "safety ratings are null",
        each_event(
            lambda event: {
                **event,
                "candidates": [
                    {**c, "safetyRatings": None, "citationMetadata": None}
                    for c in event["candidates"]
                ],
            }
        ),
    ),
    anthropic(
        "content is empty in the start of a block",
        each_event(
            lambda event: (
                {
                    **event,
                    "content_block": {
                        k: v for k, v in event["content_block"].items() if k != "text"
                    },
                }
                if event["type"] == "content_block_start" and "text" in event["content_block"]
                else event
            )
        ),
    ),
    anthropic(
        "a server tool's block is beside the call",
        each_event(
            lambda event: (
                [
                    event,
                    {
                        "type": "content_block_start",
                        "index": 9,
                        "content_block": {
                            "type": "server_tool_use",
                            "id": "srvtoolu_1",
                            "name": "web_search",
                            "input": {},
                        },
                    },
                    {"type": "content_block_stop", "index": 9},
                ]
                if event["type"] == "message_start"
                else event
            ),
            first_call,
        ),
        end=succeeds_or_fails(""),
    ),
    *on_all(
        "a job of three calls",
        model=calls(
            ToolCall("list_dir", {}),
            ToolCall("read_file", {"path": "note.txt"}),
            ToolCall("python", {"code": CODE}),
        ),
    ),
    *on_all(
        "the stand-in's key is not accepted, either",
        refuses(always, 401, "Invalid API Key"),
        stand_in=[refuses(always, 401, "Wrong stand-in key")],
        end=fails("Invalid API Key", "Wrong stand-in key"),
    ),
]
