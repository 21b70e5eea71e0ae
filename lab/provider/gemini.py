"""The wire format of Gemini's generateContent.

Shapes: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from lab.provider.pieces import pieces
from lab.provider.request import Message, Request
from lab.provider.turn import SIGNATURE, Refusal, Reply, Tokens, ToolCall

_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


def messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a request's body, the system instruction first."""
    system = body.get("systemInstruction")
    messages = [Message("system", _joined(system))] if system else []
    for content in body["contents"]:
        messages.extend(_content(content))
    return tuple(messages)


def tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the offered functions."""
    return tuple(
        function["name"]
        for tool in body.get("tools") or ()
        for function in tool.get("functionDeclarations") or ()
    )


def forced_tool(body: Mapping[str, Any]) -> str | None:
    """The function that must be called, if any."""
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    allowed: list[str] = config.get("allowedFunctionNames") or []
    return allowed[0] if config.get("mode") == "ANY" and allowed else None


def reply(turn: Reply, model: str, number: int) -> dict[str, Any]:
    """The body of a complete reply; `number` makes its id unique."""
    if any(isinstance(call.args, str) for call in turn.tool_calls):
        return _body(turn, model, number, [], "MALFORMED_FUNCTION_CALL")
    parts: list[dict[str, Any]] = [_thought(turn.thoughts)] if turn.thoughts else []
    parts += [{"text": turn.text}] if turn.text else []
    calls: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": call.args}} for call in turn.tool_calls
    ]
    if turn.thoughts and calls:  # only the first call has the signature
        calls[0] |= {"thoughtSignature": SIGNATURE}
    return _body(turn, model, number, [*parts, *calls], _finish(turn))


def chunks(turn: Reply, request: Request, number: int) -> Iterator[str]:
    """The same reply as the data of server-sent events."""
    model = request.model
    texts = pieces(turn.text)
    early = [*map(_thought, pieces(turn.thoughts)), *({"text": text} for text in texts[:-1])]
    for part in early:
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}}
        yield json.dumps({"candidates": [candidate], "modelVersion": model})
    last_turn = replace(turn, text=texts[-1] if texts else "")
    last_reply = reply(last_turn, model, number)
    content = last_reply["candidates"][0]["content"]
    content["parts"] = [part for part in content["parts"] if "thought" not in part]
    yield json.dumps(last_reply)


def refusal(turn: Refusal) -> dict[str, Any]:
    """The body of an error. Gemini's retry delay is in the body, as a RetryInfo."""
    error: dict[str, Any] = {
        "code": turn.status,
        "message": turn.message,
        "status": _STATUS.get(turn.status, "UNKNOWN"),
    }
    if turn.retry_after is not None:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo"}
        error["details"] = [{**retry, "retryDelay": f"{turn.retry_after:g}s"}]
    return {"error": {**error, **(turn.fields or {})}}


def _content(content: Mapping[str, Any]) -> Iterator[Message]:
    parts = content.get("parts") or ()
    if content.get("role") == "model":
        calls = tuple(
            ToolCall(part["functionCall"]["name"], part["functionCall"].get("args") or {})
            for part in parts
            if "functionCall" in part
        )
        yield Message("assistant", _joined(content), calls)
        return
    for part in parts:
        if "functionResponse" in part:
            yield Message("tool", _result(part["functionResponse"].get("response") or {}))
        else:
            yield Message("user", part.get("text", ""))


def _result(response: Mapping[str, Any]) -> str:
    """A tool's output. The client parses JSON, so `42` arrives as a number."""
    output = response["output"] if set(response) == {"output"} else response
    return output if isinstance(output, str) else json.dumps(output)


def _joined(content: Mapping[str, Any]) -> str:
    parts = content.get("parts") or ()
    return "".join(part.get("text", "") for part in parts if not part.get("thought"))


def _thought(text: str) -> dict[str, Any]:
    return {"text": text, "thought": True}


def _body(
    turn: Reply, model: str, number: int, parts: list[dict[str, Any]], finish: str
) -> dict[str, Any]:
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"index": 0, "content": content, "finishReason": finish}],
        "modelVersion": model,
        "responseId": f"response-{number}",
        **({"usageMetadata": _usage(turn.tokens)} if turn.tokens else {}),
    }


def _finish(turn: Reply) -> str:
    if turn.refusal:
        return "SAFETY"
    return "MAX_TOKENS" if turn.stop == "length" else "STOP"


def _usage(tokens: Tokens) -> dict[str, int]:
    return {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": tokens.output - tokens.thoughts,
        "thoughtsTokenCount": tokens.thoughts,
        "totalTokenCount": tokens.input + tokens.output,
        "cachedContentTokenCount": tokens.cached_input,
    }
