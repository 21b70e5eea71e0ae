"""Anthropic's messages.

Shapes: https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.mapping import error_in_reply
from agents.models.replies.arguments import as_object
from agents.models.streams.protocol import Chunk, Part

_NOTHING: tuple[Chunk, ...] = ()
_HEAD = {"id": "", "type": "message", "role": "assistant", "model": ""}
"""Fields that the client requires and some servers omit."""
_TEXTS: Mapping[str, tuple[str, Part]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool"),
}


class _Block:
    def __init__(self, index: int | None, content: dict[str, Any]) -> None:
        self.index = index
        self.content = content
        self.texts: dict[str, list[str]] = {}

    def chunks(self) -> Sequence[Chunk]:
        """The beginning of the block, which is usually empty."""
        if self.content.get("input"):
            return (Chunk("tool", json.dumps(self.content["input"])),)
        texts = ((part, self.content.get(name)) for name, part in _TEXTS.values())
        return tuple(Chunk(part, text) for part, text in texts if text)

    def result(self) -> dict[str, Any]:
        """The block in the form of a message that is not streamed."""
        block = dict(self.content)
        for name, parts in self.texts.items():
            text = "".join(parts)
            if name != "partial_json":
                block[name] = (block.get(name) or "") + text
            elif text.strip():
                block["input"] = text
        if block.get("type") == "tool_use":
            block |= {"name": block.get("name") or "", "input": as_object(block.get("input"))}
        return block


class AnthropicAssembler:
    """Assembles a message from its events. Some servers give all blocks one index, or none, and
    leave out the events that begin or end a block or the message."""

    def __init__(self) -> None:
        self.is_complete = False
        self._message: dict[str, Any] = {}
        self._blocks: list[_Block] = []

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        match event.get("type"):
            case "error":
                raise error_in_reply(event.get("error"))
            case "message_start":
                self._message |= event["message"]
            case "message":  # not streamed
                self._message |= event
                self.is_complete = True
                return [
                    chunk for block in event["content"] for chunk in self._add_block(None, block)
                ]
            case "content_block_start":
                return self._add_block(event.get("index"), event["content_block"])
            case "content_block_delta":
                return self._add(event.get("index"), event["delta"])
            case "message_delta":
                self._message |= event.get("delta") or {}
                usage = {name: n for name, n in (event.get("usage") or {}).items() if n is not None}
                self._message["usage"] = {**(self._message.get("usage") or {}), **usage}
                self.is_complete = self.is_complete or bool(self._message.get("stop_reason"))
            case "message_stop":
                self.is_complete = True
            case None if error := event.get("error"):
                raise error_in_reply(error)
        return _NOTHING

    def _add_block(self, index: int | None, content: Mapping[str, Any]) -> Sequence[Chunk]:
        block = _Block(index, dict(content))
        open_block = self._block(index)
        if open_block is None or open_block.content != block.content:
            self._blocks.append(block)
        return block.chunks()

    def _block(self, index: int | None) -> _Block | None:
        """The last block with this index; without an index, the last block."""
        return next((block for block in self._blocks[::-1] if index in (None, block.index)), None)

    def _add(self, index: int | None, delta: Mapping[str, Any]) -> Sequence[Chunk]:
        kind = str(delta.get("type"))
        block = self._block(index)
        if kind in _TEXTS:
            name, part = _TEXTS[kind]
            if block is None and kind != "input_json_delta":
                block = _Block(index, {"type": name, name: ""})
                self._blocks.append(block)
            if block is None:
                raise LookupError(f"{kind} without a block")
            text = delta[name] or ""
            block.texts.setdefault(name, []).append(text)
            return (Chunk(part, text),) if text else _NOTHING
        if block is not None and kind == "signature_delta":
            signature, piece = block.content.get("signature") or "", delta["signature"]
            block.content["signature"] = signature if signature == piece else signature + piece
        elif block is not None and kind == "citations_delta":
            citations = block.content.get("citations") or ()
            block.content["citations"] = [*citations, delta["citation"]]
        return _NOTHING

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        return {**_HEAD, **self._message, "content": [block.result() for block in self._blocks]}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    return bool(body.get("content") or body.get("stop_reason"))
