"""The wire format of Anthropic's messages.

Shapes: https://docs.anthropic.com/en/api/messages
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lab.provider.pieces import pieces
from lab.provider.request import Message, Request
from lab.provider.turn import SIGNATURE, Refusal, Reply, Tokens, ToolCall

PING = {"type": "ping"}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a request's body, the system prompt first."""
    messages = [Message("system", _text(body["system"]))] if body.get("system") else []
    for item in body["messages"]:
        messages.extend(_message(item))
    return tuple(messages)


def tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the offered tools."""
    return tuple(tool["name"] for tool in body.get("tools") or ())


def forced_tool(body: Mapping[str, Any]) -> str | None:
    """The tool that must be called, if any."""
    choice = body.get("tool_choice") or {}
    if choice.get("type") == "any":
        return tools(body)[0]
    return choice.get("name") if choice.get("type") == "tool" else None


def reply(turn: Reply, model: str, number: int) -> dict[str, Any]:
    """The body of a complete reply."""
    return {
        **_head(turn, model, number),
        "content": _blocks(turn, number),
        "stop_reason": _stop(turn),
        "stop_sequence": None,
    }


def chunks(turn: Reply, request: Request, number: int) -> Iterator[str]:
    """The same reply as the data of server-sent events."""
    head = {**_head(turn, request.model, number), "content": [], "stop_reason": None}
    head["usage"] = {**head["usage"], "output_tokens": 1}
    yield json.dumps({"type": "message_start", "message": head})
    for index, block in enumerate(_blocks(turn, number)):
        empty, deltas = _deltas(block)
        yield json.dumps({"type": "content_block_start", "index": index, "content_block": empty})
        yield json.dumps(PING)
        for delta in deltas:
            yield json.dumps({"type": "content_block_delta", "index": index, "delta": delta})
        yield json.dumps({"type": "content_block_stop", "index": index})
    usage = {"output_tokens": turn.tokens.output if turn.tokens else 0}
    delta = {"stop_reason": _stop(turn), "stop_sequence": None}
    yield json.dumps({"type": "message_delta", "delta": delta, "usage": usage})
    yield json.dumps({"type": "message_stop"})


def framed(data: str) -> bytes:
    """An event, with its name before it."""
    return f"event: {json.loads(data)['type']}\ndata: {data}\n\n".encode()


def refusal(turn: Refusal) -> dict[str, Any]:
    """The body of an error."""
    error = {"type": _ERRORS.get(turn.status, "api_error"), "message": turn.message}
    return {"type": "error", "error": {**error, **(turn.fields or {})}}


def _message(message: Mapping[str, Any]) -> Iterator[Message]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if message["role"] == "assistant":
        calls = (ToolCall(b["name"], b["input"]) for b in content if b["type"] == "tool_use")
        yield Message("assistant", _text(content), tuple(calls))
        return
    for block in content:
        if block["type"] == "tool_result":
            yield Message("tool", _text(block.get("content") or ""))
        else:
            yield Message("user", block.get("text", ""))


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content if block.get("type") == "text")


def _head(turn: Reply, model: str, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "usage": _usage(turn.tokens or Tokens(0, 0)),
    }


def _blocks(turn: Reply, number: int) -> list[dict[str, Any]]:
    text = turn.text or turn.refusal
    blocks: list[dict[str, Any]] = _thoughts(turn.thoughts) if turn.thoughts else []
    blocks += [{"type": "text", "text": text}] if text else []
    for index, call in enumerate(turn.tool_calls):
        identity = f"toolu_{number}_{index}" if call.id is None else call.id
        blocks.append({"type": "tool_use", "id": identity, "name": call.name, "input": call.args})
    return blocks


def _thoughts(text: str) -> list[dict[str, Any]]:
    """Visible and redacted thoughts."""
    return [
        {"type": "thinking", "thinking": text, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": SIGNATURE},
    ]


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A block's start, and its deltas."""
    if block["type"] == "text":
        parts = pieces(block["text"])
        return {**block, "text": ""}, [{"type": "text_delta", "text": part} for part in parts]
    if block["type"] == "thinking":
        parts = pieces(block["thinking"])
        deltas = [{"type": "thinking_delta", "thinking": part} for part in parts]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, deltas
    if block["type"] == "redacted_thinking":
        return block, []
    args = block["input"]
    parts = pieces(args if isinstance(args, str) else json.dumps(args))
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", *parts)]
    return {**block, "input": {}}, deltas


def _stop(turn: Reply) -> str:
    if turn.refusal:
        return "refusal"
    if turn.stop == "length":
        return "max_tokens"
    return "tool_use" if turn.tool_calls else "end_turn"


def _usage(tokens: Tokens) -> dict[str, int]:
    """Input tokens do not include the tokens that were read from or written to the cache."""
    return {
        "input_tokens": tokens.input - tokens.cached_input - tokens.cache_write,
        "cache_read_input_tokens": tokens.cached_input,
        "cache_creation_input_tokens": tokens.cache_write,
        "output_tokens": tokens.output,
    }
