"""Chat completions: OpenAI, Groq, DeepSeek, OpenRouter, and most local servers.

Shapes: https://platform.openai.com/docs/api-reference/chat-streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agents.models.error_mapping.from_status import error_in_reply
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
    """Assembles a completion from its chunks. Unknown fields are kept; their pieces are joined."""

    def __init__(self) -> None:
        self.ended = False
        self._head: dict[str, Any] = {}
        self._choices: dict[int, _Choice] = {}

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error"):
            raise error_in_reply(error)
        usage = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        if usage:
            self._head["usage"] = usage
        for name in ("id", "created", "model", "system_fingerprint", "service_tier", "provider"):
            if name in event:
                self._head[name] = event[name]
        chunks: list[Chunk] = []
        for each in event.get("choices") or ():
            index = each.get("index", 0)
            choice = self._choices.get(index) or self._choices.setdefault(index, _Choice())
            chunks += choice.feed(each)
            self.ended = self.ended or choice.finish is not None
        return chunks

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        choices = [self._choices[index].result(index) for index in sorted(self._choices)]
        return {**_HEAD, **self._head, "choices": choices}


class _Choice:
    def __init__(self) -> None:
        self.finish: str | None = None
        self._message: dict[str, Any] = {"role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._calls: dict[int, dict[str, Any]] = {}

    def feed(self, choice: Mapping[str, Any]) -> list[Chunk]:
        self.finish = choice.get("finish_reason") or self.finish
        chunks = []
        for name, value in (choice.get("delta") or {}).items():
            if name == "tool_calls":
                chunks += [self._call(each) for each in value or ()]
            elif name == "role" or value is None:
                continue
            elif isinstance(value, str):
                self._texts.setdefault(name, []).append(value)
                if value and name == "content":
                    chunks.append(Chunk("text", value))
                elif value and name in _REASONING:
                    chunks.append(Chunk("reasoning", value))
            else:
                self._message[name] = joined(self._message.get(name), value)
        return chunks

    def _call(self, part: Mapping[str, Any]) -> Chunk:
        index = part.get("index", len(self._calls))
        call = self._calls.setdefault(
            index, {"id": None, "type": "function", "function": {"name": "", "arguments": ""}}
        )
        function = part.get("function") or {}
        call["id"] = part.get("id") or call["id"]
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        arguments = function.get("arguments") or ""
        if not isinstance(arguments, str):  # some servers send the object itself
            arguments = json.dumps(arguments)
        call["function"]["arguments"] += arguments
        _keep_others(call, part, ("index", "id", "type", "function"))
        _keep_others(call["function"], function, ("name", "arguments"))
        return Chunk("tool", arguments)

    def result(self, index: int) -> dict[str, Any]:
        message = {"content": None, **self._message}
        message |= {name: "".join(parts) for name, parts in self._texts.items()}
        message["content"] = message["content"] or None
        if self._calls:
            message["tool_calls"] = [self._calls[place] for place in sorted(self._calls)]
        finish = self.finish or ("tool_calls" if self._calls else "stop")
        return {"index": index, "message": message, "finish_reason": finish}


def _keep_others(known: dict[str, Any], part: Mapping[str, Any], read: Sequence[str]) -> None:
    """Add the fields of a piece that are not `read`, such as `extra_content`."""
    for name in part.keys() - set(read):
        known[name] = joined(known.get(name), part[name])


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol."""
    if error := body.get("error"):
        raise error_in_reply(error)
    return bool(body.get("choices"))


def declined(body: Mapping[str, Any]) -> str | None:
    """See StreamProtocol."""
    choice = body["choices"][0]
    message = choice.get("message") or {}
    if refusal := message.get("refusal"):
        return str(refusal)
    filtered = choice.get("finish_reason") == "content_filter"
    return message.get("content") or "content_filter" if filtered else None


def message(body: Mapping[str, Any]) -> dict[str, Any] | None:
    """See StreamProtocol."""
    known: dict[str, Any] | None = body["choices"][0].get("message")
    return known


def streamed(request: httpx.Request) -> httpx.Request:
    """See StreamProtocol."""
    body = {
        **json.loads(request.content),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {k: v for k, v in request.headers.items() if k != "content-length"}
    return httpx.Request(
        request.method,
        request.url,
        headers=headers,
        content=json.dumps(body).encode(),
        extensions=request.extensions,
    )
