"""Ollama's chat: one JSON object per line. Its client streams by itself.

Shapes: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.mapping import error_in_reply
from agents.models.replies.arguments import WRAPPED, as_object
from agents.models.streams.protocol import Chunk


class OllamaAssembler:
    """Assembles a last line with the content of all lines."""

    def __init__(self) -> None:
        self.is_complete = False
        self._last: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {"content": [], "thinking": []}
        self._calls: list[Any] = []

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error"):
            raise error_in_reply(error)
        self._last |= event
        self.is_complete = self.is_complete or bool(event.get("done") or event.get("done_reason"))
        message = event.get("message") or {}
        chunks = []
        if text := message.get("content"):
            self._texts["content"].append(text)
            chunks.append(Chunk("text", text))
        if text := message.get("thinking"):
            self._texts["thinking"].append(text)
            chunks.append(Chunk("reasoning", text))
        for call in message.get("tool_calls") or ():
            function = call.get("function") or call
            arguments = as_object(function.get("arguments"))
            chunks.append(Chunk("tool", json.dumps(arguments)))
            # The client parses each text among the arguments that is JSON, such as the content of a
            # file, but none in an object.
            named_function = {"name": function.get("name") or "", "arguments": {WRAPPED: arguments}}
            self._calls.append({**call, "function": {**function, **named_function}})
        return chunks

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        if "message" not in self._last:
            return self._last
        message: dict[str, Any] = {
            "role": "assistant",
            **{name: "".join(parts) for name, parts in self._texts.items() if parts},
        }
        message.setdefault("content", "")
        if self._calls:
            message["tool_calls"] = self._calls
        end: dict[str, Any] = {"done": True} if self.is_complete else {}
        if self._last.get("done_reason") == "load":  # the client drops such a reply
            end["done_reason"] = "stop"
        return {**self._last, **end, "message": message}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    return isinstance(body.get("message"), dict) and body.get("done") is not False


def message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """See StreamProtocol."""
    received: dict[str, Any] | None = body["message"]
    return received
