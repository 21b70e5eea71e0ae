"""Real servers: all known quirks of one server together."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from integration.quirks.reports_bodies import in_bytes
from integration.quirks.reports_calls import two_calls
from integration.quirks.reports_fields import thinks
from support.quirks.edits import (
    arguments_json,
    as_text,
    each_call_part,
    each_choice,
    each_delta,
    finish,
    forced,
    object_choice,
    with_calls,
)
from support.quirks.quirk import (
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    When,
    answers,
    both,
    each_event,
    first,
    has,
    plays,
    refuses,
    role,
    says,
    second_call,
    sends,
)
from support.quirks.row import Row, anthropic, gemini, ollama, openai
from support.quirks.server import CODE

from lab.provider import Refusal, Reply

_BOTH = (CODE, "print(6 + 36)")


def _thoughts_missing(received: ReceivedRequest) -> bool:
    return received.role == "executor" and any(
        message.get("tool_calls") and not message.get("reasoning_content")
        for message in received.body["messages"]
        if message["role"] == "assistant"
    )


def _signature_missing(received: ReceivedRequest) -> bool:
    return received.role == "executor" and any(
        "extra_content" not in call
        for message in received.body["messages"]
        for call in message.get("tool_calls") or ()
    )


def _sign(part: dict[str, Any]) -> None:
    if part.get("id"):
        part["extra_content"] = {"google": {"thought_signature": "c2lnbmVk"}}
    part["index"] = 0


def _google_error(when: When, message: str) -> Quirk:
    """Gemini's OpenAI endpoint sends its errors in an array."""
    error = {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}
    return answers(when, 400, json.dumps([{"error": error}]))


def _fastapi(name: str) -> Quirk:
    detail = {
        "type": "extra_forbidden",
        "loc": ["body", name],
        "msg": "Extra inputs are not permitted",
    }
    return answers(has(name), 422, json.dumps({"detail": [detail]}))


def _whole_arguments(sent: Sent) -> Sent:
    """Each call arrives in one part, as Ollama's and Gemini's endpoints send it."""
    parts: dict[int, dict[str, Any]] = {}

    def edit(event: Event) -> Any:
        calls = event["choices"][0]["delta"].get("tool_calls") if event.get("choices") else None
        if not calls:
            return event
        part = calls[0]
        if part["index"] in parts:
            function = parts[part["index"]]["function"]
            function["arguments"] += part["function"]["arguments"]
            return None
        parts[part["index"]] = part
        return event

    return sent.with_events(edit)


_LM_STUDIO = (
    answers(
        object_choice,
        400,
        '{"error": "Invalid tool_choice type: \'object\'. Supported string values: none, auto, '
        'required"}',
    ),
    says(with_calls(lambda call: replace(call, id=None))),
    each_event(lambda event: {**event, "stats": {}, "system_fingerprint": "qwen3"}),
)
_KIMI = (
    thinks,
    refuses(forced, 400, "tool_choice 'required' is incompatible with thinking enabled"),
    refuses(has("temperature"), 400, "invalid temperature: only 1 is allowed for this model"),
    refuses(
        _thoughts_missing,
        400,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 2",
    ),
    says(with_calls(lambda call: replace(call, id=f"functions.{call.name}:0"))),
)
_DEEPSEEK = (
    thinks,
    refuses(forced, 400, "Thinking mode does not support this tool_choice", param=None),
    refuses(
        _thoughts_missing,
        400,
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    sends(lambda sent: replace(sent, items=[b": keep-alive\n\n", *sent.items])),
)
_QWEN = (
    thinks,
    refuses(
        forced,
        400,
        "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support "
        "being set to required or object in thinking mode",
        code="invalid_parameter_error",
    ),
    each_delta(lambda delta: delta.setdefault("content", None)),
    each_call_part(lambda part: part["function"].setdefault("name", "")),
)
_GOOGLE = (
    sends(_whole_arguments),
    each_call_part(_sign),
    _google_error(
        _signature_missing, "Function call is missing a thought_signature in functionCall"
    ),
    _google_error(has("stream_options.x"), "Unknown name"),
    finish("stop"),
    each_event(lambda event: {k: v for k, v in event.items() if k != "system_fingerprint"}),
)
_AZURE = (
    sends(
        lambda sent: replace(
            sent, items=[{"choices": [], "prompt_filter_results": [{}]}, *sent.items]
        )
    ),
    each_choice(lambda choice: choice.update(content_filter_results={"hate": {"filtered": False}})),
    refuses(
        has("max_tokens"),
        400,
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        param="max_tokens",
        code="unsupported_parameter",
    ),
    refuses(
        has("temperature"),
        400,
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default "
        "(1) value is supported.",
        param="temperature",
        code="unsupported_value",
    ),
)
_LLAMA_CPP = (
    says(
        lambda reply: replace(reply, text="I would run it.", tool_calls=()),
        both(
            role("planner", "critic"),
            lambda received: received.body.get("tool_choice") != "required",
        ),
    ),
    each_event(lambda event: {**event, "timings": {"predicted_per_second": 20.0}}),
    refuses(first(), 503, "Loading model", type="unavailable_error"),
)
_MISTRAL = (
    _fastapi("stream_options"),
    says(with_calls(lambda call: replace(call, id="D681PevKs"[:9]))),
    each_delta(lambda delta: delta.pop("role", None)),
)
_OLLAMA_OPENAI = (
    sends(_whole_arguments),
    finish("stop"),
    says(as_text(arguments_json), role("planner", "critic")),
)
_LITELLM = (
    answers(
        both(second_call, first()),
        429,
        '{"error": {"message": "litellm.RateLimitError: slow down", "type": "throttling_error", '
        '"param": null, "code": "429"}}',
        **{"llm_provider-retry-after": "0"},
    ),
    refuses(
        has("temperature"),
        400,
        "litellm.UnsupportedParamsError: openai does not support parameters: ['temperature'], for "
        "model=o3.",
        type="None",
        param="None",
        code="400",
    ),
)
_VLLM_BARE = (
    refuses(
        both(has("max_tokens"), lambda received: received.body["max_tokens"] > 8192 - 2500),
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context "
        "length is 8192 tokens and your request has 2500 input tokens (8192 > 8192 - 2500). "
        "(parameter=max_tokens, value=8192)",
    ),
    each_delta(lambda delta: delta.setdefault("reasoning", None)),
    each_choice(lambda choice: choice.update(stop_reason=None, token_ids=None)),
)
_MINIMAX = (
    says(
        lambda reply: replace(
            reply, text=f"<think>\nI do it.\n</think>\n\n{reply.text}" if reply.text else ""
        )
    ),
    each_choice(lambda choice: choice.update(index=0, seed=1)),
)
_GLM = (
    thinks,
    refuses(
        both(has("tool_choice"), lambda received: received.body["tool_choice"] != "auto"),
        400,
        "tool_choice only supports auto",
        code="1210",
    ),
    Quirk(
        say=says(lambda _reply: Reply("It prin"), both(second_call, first())).say,
        send=finish("network_error", both(second_call, first())).send,
    ),
)

_SERVERS: dict[str, tuple[tuple[Quirk, ...], dict[str, Any]]] = {
    "LM Studio": (_LM_STUDIO, {}),
    "Kimi": (_KIMI, {"strict": False}),
    "DeepSeek v4": (_DEEPSEEK, {"name": "deepseek:deepseek-v4-flash"}),
    "Qwen at DashScope": (_QWEN, {}),
    "Gemini's OpenAI endpoint": (_GOOGLE, {}),
    "a reasoning model at Azure": (_AZURE, {}),
    "llama.cpp": (_LLAMA_CPP, {}),
    "Mistral": (_MISTRAL, {}),
    "Ollama's OpenAI endpoint": (_OLLAMA_OPENAI, {}),
    "LiteLLM's proxy": (_LITELLM, {}),
    "vLLM with a small context": (_VLLM_BARE, {}),
    "MiniMax": (_MINIMAX, {}),
    "GLM": (_GLM, {}),
}

_AWAY = plays(second_call, Refusal(401, "Invalid API Key"))

ROWS: list[Row] = [
    *[
        openai(f"{server}, with all its quirks", *quirks, **more)
        for server, (quirks, more) in _SERVERS.items()
    ],
    *[
        openai(
            f"{server}, with all its quirks and two calls in one reply",
            *quirks,
            model=two_calls,
            programs=_BOTH,
            **more,
        )
        for server, (quirks, more) in _SERVERS.items()
        if server not in ("Kimi", "Mistral")
    ],
    *[
        openai(
            f"{server}, with all its quirks, seven bytes a chunk",
            *quirks,
            in_bytes(
                lambda stream: [stream[start : start + 7] for start in range(0, len(stream), 7)]
            ),
            **more,
        )
        for server, (quirks, more) in _SERVERS.items()
    ],
    *[
        openai(
            f"{server} is away in mid-conversation: {stand_in} goes on",
            *quirks,
            _AWAY,
            stand_in=(),
            stand_in_name=stand_in,
            **more,
        )
        for server, (quirks, more) in _SERVERS.items()
        for stand_in in ("anthropic:claude-haiku-4-5", "google_genai:gemini-2.5-flash")
    ],
    *[
        row(
            f"{wire} is away in mid-conversation: {server} goes on",
            thinks,
            _AWAY,
            stand_in=quirks,
            stand_in_name="openai:gpt-4.1-mini",
        )
        for wire, row in (("Claude", anthropic), ("Gemini", gemini), ("Ollama", ollama))
        for server, (quirks, more) in _SERVERS.items()
        if server
        in (
            "LM Studio",
            "Gemini's OpenAI endpoint",
            "a reasoning model at Azure",
            "llama.cpp",
            "LiteLLM's proxy",
        )
    ],
]
