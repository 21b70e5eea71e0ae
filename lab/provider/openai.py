"""The wire format of OpenAI's chat completions, which Groq uses, too.

Shapes: https://console.groq.com/docs/api-reference#chat-create
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lab.provider.pieces import CHARACTERS, pieces
from lab.provider.request import Message, Request
from lab.provider.turn import Refusal, Reply, Tokens, ToolCall

_OF_GROQ = "/openai/v1/"
_OF_MISTRAL = "/mistral/"
_MOST_CHUNKS = 4096
"""The most chunks of a text, so that even a huge one is sent within seconds."""


def messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a request's body."""
    return tuple(
        Message(
            speaker=item["role"],
            text=_text(item.get("content")),
            tool_calls=tuple(map(_tool_call, item.get("tool_calls") or ())),
        )
        for item in body["messages"]
    )


def tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the offered tools."""
    return tuple(tool["function"]["name"] for tool in body.get("tools") or ())


def forced_tool(body: Mapping[str, Any]) -> str | None:
    """The tool that must be called, if any."""
    choice = body.get("tool_choice")
    if choice == "required":
        return tools(body)[0]
    return choice["function"]["name"] if isinstance(choice, dict) else None


def reply(turn: Reply, model: str, number: int) -> dict[str, Any]:
    """The body of a complete reply; `number` makes its ids unique."""
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "system_fingerprint": None,
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": turn.text or None,
                    **({"reasoning_content": turn.thoughts} if turn.thoughts else {}),
                    **({"refusal": turn.refusal} if turn.refusal else {}),
                    **({"tool_calls": _calls(turn, number)} if turn.tool_calls else {}),
                },
                "logprobs": None,
                "finish_reason": _finish(turn),
            }
        ],
        **({"usage": _usage(turn.tokens)} if turn.tokens else {}),
    }


def chunks(turn: Reply, request: Request, number: int) -> Iterator[str]:
    """The same reply as the data of server-sent events.

    Usage is sent on request. Groq and Mistral always send it with the end; Groq in its own field.
    """
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "model": request.model}
    of_groq = request.path.startswith(_OF_GROQ)

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return json.dumps({**head, "choices": [choice], **more})

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(turn.thoughts):
        yield chunk({"reasoning" if of_groq else "reasoning_content": piece})
    for piece in pieces(turn.text, max(CHARACTERS, len(turn.text) // _MOST_CHUNKS)):
        yield chunk({"content": piece})
    if turn.refusal:
        yield chunk({"refusal": turn.refusal})
    for i, call in enumerate(_calls(turn, number)):
        for delta in _call_deltas(call):
            yield chunk({"tool_calls": [{"index": i, **delta}]})
    usage = _usage(turn.tokens) if turn.tokens else None
    with_end: dict[str, Any] = {}
    if usage and of_groq:
        with_end = {"x_groq": {"usage": usage}}
    elif usage and request.path.startswith(_OF_MISTRAL):
        with_end = {"usage": usage}
    yield chunk({}, _finish(turn), **with_end)
    if usage and (request.body.get("stream_options") or {}).get("include_usage"):
        yield json.dumps({**head, "choices": [], "usage": usage})
    yield "[DONE]"


def _call_deltas(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A streamed call: its name first, then its arguments in pieces."""
    arguments = call["function"]["arguments"]
    yield {**call, "function": {"name": call["function"]["name"], "arguments": ""}}
    for piece in pieces(arguments):
        yield {"function": {"arguments": piece}}


def refusal(turn: Refusal) -> dict[str, Any]:
    """The body of an error."""
    error = {"message": turn.message, "type": "scripted_error", **(turn.fields or {})}
    return {"error": error}


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def _tool_call(call: Mapping[str, Any]) -> ToolCall:
    function = call["function"]
    try:
        return ToolCall(function["name"], json.loads(function["arguments"]))
    except json.JSONDecodeError:
        return ToolCall(function["name"], function["arguments"])


def _calls(turn: Reply, number: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"call_{number}_{i}" if call.id is None else call.id,
            "type": "function",
            "function": {
                "name": call.name,
                "arguments": call.args if isinstance(call.args, str) else json.dumps(call.args),
            },
        }
        for i, call in enumerate(turn.tool_calls)
    ]


def _finish(turn: Reply) -> str:
    return "tool_calls" if turn.tool_calls and turn.stop == "stop" else turn.stop


def _usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.input + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached_input},
        "completion_tokens_details": {"reasoning_tokens": tokens.thoughts},
        "queue_time": 0.0,
    }
