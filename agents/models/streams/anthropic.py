"""Anthropic's messages.

Shapes: https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.from_status import error_in_reply
from agents.models.replies.ending import MALFORMED
from agents.models.streams.protocol import Chunk, Part

_NOTHING: tuple[Chunk, ...] = ()
_TEXTS: Mapping[str, tuple[str, Part]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool"),
}


class AnthropicAssembler:
    """Assembles a message from its events."""

    def __init__(self) -> None:
        self.ended = False
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        match event.get("type"):
            case "error":
                raise error_in_reply(event.get("error"))
            case "message_start":
                self._message = dict(event["message"])
            case "content_block_start":
                self._blocks[event["index"]] = dict(event["content_block"])
            case "content_block_delta":
                return self._add(event["index"], event["delta"])
            case "message_delta":
                self._message |= event["delta"]
                usage = {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **usage}
            case "message_stop":
                self.ended = True
        return _NOTHING

    def _add(self, index: int, delta: Mapping[str, Any]) -> Sequence[Chunk]:
        kind = delta["type"]
        if kind in _TEXTS:
            name, part = _TEXTS[kind]
            self._texts.setdefault((index, name), []).append(delta[name])
            return (Chunk(part, delta[name]),)
        if kind == "signature_delta":
            block, piece = self._blocks[index], delta["signature"]
            known = block.get("signature") or ""
            block["signature"] = known if known == piece else known + piece
        elif kind == "citations_delta":
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        return _NOTHING

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        for (index, name), parts in self._texts.items():
            block, text = self._blocks[index], "".join(parts)
            if name == "partial_json":
                block["input"] = _arguments(text)
            else:
                block[name] = block.get(name, "") + text
        content = [self._blocks[index] for index in sorted(self._blocks)]
        return {**self._message, "content": content}


def _arguments(text: str) -> dict[str, Any]:
    """A tool call's arguments. Invalid JSON is kept as text, under one name."""
    try:
        arguments = json.loads(text or "{}")
    except json.JSONDecodeError:
        return {MALFORMED: text}
    return arguments if isinstance(arguments, dict) else {MALFORMED: text}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    if body.get("type") == "error":
        raise error_in_reply(body.get("error"))
    return body.get("type") == "message"


def declined(body: Mapping[str, Any]) -> str | None:
    """See StreamProtocol."""
    if body.get("stop_reason") != "refusal":
        return None
    text = "".join(block.get("text") or "" for block in body.get("content") or ())
    return text or "refusal"
