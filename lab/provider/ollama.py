"""The wire format of Ollama's chat.

Shapes: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lab.provider.pieces import pieces
from lab.provider.request import Message, Request
from lab.provider.turn import Refusal, Reply, ToolCall

_AT = "2026-01-01T00:00:00Z"


def messages(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """The messages of a request's body."""
    return tuple(
        Message(
            speaker=message["role"],
            text=message.get("content") or "",
            tool_calls=tuple(
                ToolCall(call["function"]["name"], call["function"]["arguments"])
                for call in message.get("tool_calls") or ()
            ),
        )
        for message in body["messages"]
    )


def tools(body: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the offered tools."""
    return tuple(tool["function"]["name"] for tool in body.get("tools") or ())


def forced_tool(body: Mapping[str, Any]) -> str | None:  # noqa: ARG001 - the signature of every format
    """None: Ollama has no such option."""
    return None


def reply(turn: Reply, model: str, number: int) -> dict[str, Any]:  # noqa: ARG001 - it has no ids
    """The body of a complete reply. Arguments are objects; invalid ones are sent as text."""
    message = _message(turn, turn.text)
    message |= {"thinking": turn.thoughts} if turn.thoughts else {}
    return {**_line(model, message), **_end(turn)}


def chunks(turn: Reply, request: Request, number: int) -> Iterator[str]:  # noqa: ARG001
    """The same reply in lines."""
    model = request.model
    for piece in pieces(turn.thoughts):
        message = {"role": "assistant", "content": "", "thinking": piece}
        yield json.dumps(_line(model, message))
    for piece in pieces(turn.text):
        yield json.dumps(_line(model, {"role": "assistant", "content": piece}))
    if turn.tool_calls:
        yield json.dumps(_line(model, _message(turn, "")))
    yield json.dumps({**_line(model, {"role": "assistant", "content": ""}), **_end(turn)})


def framed(data: str) -> bytes:
    """A line."""
    return f"{data}\n".encode()


def refusal(turn: Refusal) -> dict[str, Any]:
    """The body of an error."""
    return {"error": turn.message}


def _line(model: str, message: Mapping[str, Any]) -> dict[str, Any]:
    return {"model": model, "created_at": _AT, "message": message, "done": False}


def _message(turn: Reply, text: str) -> dict[str, Any]:
    calls = [{"function": {"name": call.name, "arguments": call.args}} for call in turn.tool_calls]
    return {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}


def _end(turn: Reply) -> dict[str, Any]:
    figures = (
        {"prompt_eval_count": turn.tokens.input, "eval_count": turn.tokens.output}
        if turn.tokens
        else {}
    )
    return {"done": True, "done_reason": turn.stop, "total_duration": 1, **figures}
