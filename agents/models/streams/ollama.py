"""Ollama's chat: one JSON object per line. Its client streams by itself.

Shapes: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.from_status import error_in_reply
from agents.models.replies.ending import MALFORMED
from agents.models.streams.protocol import Chunk


class OllamaAssembler:
    """Assembles a last line with the content of all lines."""

    def __init__(self) -> None:
        self.ended = False
        self._last: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {"content": [], "thinking": []}
        self._calls: list[Any] = []

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error"):
            raise error_in_reply(error)
        self._last |= event
        self.ended = bool(event.get("done"))
        message = event.get("message") or {}
        chunks = []
        if text := message.get("content"):
            self._texts["content"].append(text)
            chunks.append(Chunk("text", text))
        if text := message.get("thinking"):
            self._texts["thinking"].append(text)
            chunks.append(Chunk("reasoning", text))
        for call in message.get("tool_calls") or ():
            arguments = call["function"].get("arguments")
            chunks.append(Chunk("tool", json.dumps(arguments)))
            self._calls.append(_readable(call, arguments))
        return chunks

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        message: dict[str, Any] = {
            "role": "assistant",
            **{name: "".join(parts) for name, parts in self._texts.items() if parts},
        }
        message.setdefault("content", "")
        if self._calls:
            message["tool_calls"] = self._calls
        return {**self._last, "message": message}


def _readable(call: Mapping[str, Any], arguments: Any) -> Mapping[str, Any]:
    """`call` with an object for its arguments: the client accepts nothing else."""
    if isinstance(arguments, dict):
        return call
    return {**call, "function": {**call["function"], "arguments": {MALFORMED: str(arguments)}}}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    if error := body.get("error"):
        raise error_in_reply(error)
    return "message" in body


def declined(body: Mapping[str, Any]) -> None:  # noqa: ARG001 - as in every protocol
    """See StreamProtocol: Ollama has no sign of it."""
    return


def message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """See StreamProtocol."""
    known: dict[str, Any] | None = body["message"]
    return known
