"""Chat completions: OpenAI, Groq, DeepSeek, OpenRouter, and most local servers.

Shapes: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agents.models.error_mapping.from_status import error_in_reply
from agents.models.replies.arguments import as_object
from agents.models.streams.openai_calls import ToolCalls
from agents.models.streams.pieces import joined
from agents.models.streams.protocol import Chunk

_REASONING = ("reasoning_content", "reasoning")
"""The key of DeepSeek, vLLM and llama.cpp, and that of Groq and OpenRouter."""


_HEAD = {
    "id": "",
    "object": "chat.completion",
    "created": 0,
    "model": "",
    "system_fingerprint": None,
}
"""Fields that some clients require and some servers omit."""


class OpenAIAssembler:
    """Assembles a completion from its chunks. Unknown fields are kept; their pieces are joined.

    Only one choice is requested: some servers give the text and the calls of it different indexes.
    """

    def __init__(self) -> None:
        self.ended = False
        self._head: dict[str, Any] = {}
        self._choice: _Choice | None = None

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error") or event.get("detail"):
            raise error_in_reply(error)
        if event.get("object") == "error":  # SGLang's and older vLLM's
            raise error_in_reply(event)
        choices = event.get("choices") or ()
        usages = [event, event.get("x_groq") or {}, *choices]  # Groq's place and Moonshot's
        for usage in [each.get("usage") for each in usages]:
            if usage and isinstance(usage, Mapping):
                self._head["usage"] = usage
        for name in ("id", "created", "model", "system_fingerprint", "service_tier", "provider"):
            if name in event:
                self._head[name] = event[name]
        chunks: list[Chunk] = []
        for each in choices:
            if error := each.get("error"):
                raise error_in_reply(error)
            if not {"delta", "message", "finish_reason"} & set(each):
                continue
            self._choice = self._choice or _Choice()
            chunks += self._choice.feed(each)
            self.ended = self.ended or self._choice.ended
        return chunks

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        choices = [self._choice.result()] if self._choice else []
        return {**_HEAD, **self._head, "choices": choices}


class _Choice:
    def __init__(self) -> None:
        self.ended = False
        self._finish: str | None = None
        self._message: dict[str, Any] = {"role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._calls = ToolCalls()

    def feed(self, choice: Mapping[str, Any]) -> list[Chunk]:
        self._finish = choice.get("finish_reason") or self._finish
        delta, message = choice.get("delta"), choice.get("message")
        self.ended = self._finish is not None or bool(message)
        chunks: list[Chunk] = []
        for name, value in (delta or message or {}).items():
            if name == "role" or value is None:
                continue
            if name == "tool_calls":
                listed = value if isinstance(value, list) else [value]
                chunks += [Chunk("tool", text) for text in self._calls.add(listed)]
            elif name == "function_call":  # before tools
                chunks += [Chunk("tool", text) for text in self._calls.add([{"function": value}])]
            elif isinstance(value, str):
                chunks += self._add_text(name, value, is_whole=not delta)
            elif name == "content":
                chunks += self._add_parts(value if isinstance(value, list) else [value])
            else:
                self._message[name] = joined(self._message.get(name), value) if delta else value
        return chunks

    def _add_text(self, name: str, text: str, *, is_whole: bool = False) -> list[Chunk]:
        """Add to a text. A `message` may repeat what came before it."""
        parts = self._texts.setdefault(name, [])
        if is_whole:
            before = "".join(parts)
            text = text.removeprefix(before)
        parts.append(text)
        if text and name == "content":
            return [Chunk("text", text)]
        return [Chunk("reasoning", text)] if text and name in _REASONING else []

    def _add_parts(self, parts: Sequence[Any]) -> list[Chunk]:
        """Add a content that is a list, as Mistral sends it."""
        chunks: list[Chunk] = []
        for part in parts:
            if isinstance(part, str):
                chunks += self._add_text("content", part)
            elif part.get("type") == "thinking":
                thoughts = part.get("thinking")
                listed = thoughts if isinstance(thoughts, list) else [{"text": thoughts}]
                for each in listed:
                    chunks += self._add_text(_REASONING[0], each.get("text") or "")
            else:
                chunks += self._add_text("content", part.get("text") or "")
        return chunks

    def result(self) -> dict[str, Any]:
        message = {"content": None, **self._message}
        message |= {name: "".join(parts) for name, parts in self._texts.items()}
        message["content"] = message["content"] or None
        calls = self._calls.result()
        for call in calls:
            function = call["function"]
            function["arguments"] = json.dumps(as_object(function["arguments"]))
        if calls:
            message["tool_calls"] = calls
        finish = self._finish or ("tool_calls" if calls else "stop")
        refusal = message.get("refusal")
        if refusal or finish == "content_filter":
            # Not all clients keep the text of a refusal, and Azure's raises at `content_filter`.
            message["content"] = str(refusal or message["content"] or finish)
            finish = "refusal"
        return {"index": 0, "message": message, "finish_reason": finish}


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    return bool(body.get("choices"))


def message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """See StreamProtocol."""
    known: dict[str, Any] | None = body["choices"][0].get("message")
    return known
