"""Ollama's chat: one JSON object per line. Its client streams by itself.

Shapes: https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.from_status import error_in_reply
from agents.models.replies.arguments import WRAPPED, as_object
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
        self.ended = self.ended or bool(event.get("done") or event.get("done_reason"))
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
            self._calls.append({**call, "function": {**function, "arguments": arguments}})
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
        done = {"done": True} if self.ended else {}
        return {**self._last, **done, "message": message}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    if error := body.get("error"):
        raise error_in_reply(error)
    return isinstance(body.get("message"), dict) and body.get("done") is not False


def fix_for_client(body: dict[str, Any]) -> None:
    """See StreamProtocol. The client drops a reply with the reason `load`. It parses each text
    among the arguments that is JSON, such as the content of a file, but none in an object."""
    if body.get("done_reason") == "load":
        body["done_reason"] = "stop"
    for call in body["message"].get("tool_calls") or ():
        function = call["function"]
        function["name"] = function.get("name") or ""
        function["arguments"] = {WRAPPED: as_object(function.get("arguments"))}


def declined(body: Mapping[str, Any]) -> None:  # noqa: ARG001 - as in every protocol
    """See StreamProtocol: Ollama has no sign of it."""
    return


def message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """See StreamProtocol."""
    known: dict[str, Any] | None = body["message"]
    return known
