"""Gemini's generateContent.

Shapes: https://ai.google.dev/api/generate-content
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from agents.errors import ErrorKind, ModelRefused
from agents.models.error_mapping.mapping import error_in_reply
from agents.models.replies.arguments import as_object
from agents.models.streams.protocol import Chunk

_WHOLE, _STREAMED = ":generateContent", ":streamGenerateContent"
_PLAIN = frozenset({"text", "thought"})


class GeminiAssembler:
    """Assembles a response from partial ones. Usage figures are cumulative."""

    def __init__(self) -> None:
        self.is_complete = False
        self._response: dict[str, Any] = {}
        self._candidate: dict[str, Any] = {}
        self._parts: list[dict[str, Any]] = []

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error"):
            raise error_in_reply(error)
        self._response |= {name: value for name, value in event.items() if name != "candidates"}
        blocked = (event.get("promptFeedback") or {}).get("blockReason")
        self.is_complete = self.is_complete or bool(blocked)
        chunks: list[Chunk] = []
        for candidate in (event.get("candidates") or ())[:1]:  # only one is requested
            self._candidate |= {
                name: field for name, field in candidate.items() if field is not None
            }
            self.is_complete = self.is_complete or bool(candidate.get("finishReason"))
            for part in (candidate.get("content") or {}).get("parts") or ():
                chunks += self._add(part)
        return chunks

    def _add(self, part: Mapping[str, Any]) -> Sequence[Chunk]:
        part = {name: value for name, value in part.items() if value is not None}
        last = self._parts[-1] if self._parts else {}
        if "functionCall" in part:
            return (self._add_call(last, part),)
        text = part.get("text")
        if _same_kind(last, part):
            last["text"] += text
        elif text or set(part) - _PLAIN:  # a part without text may have a signature
            self._parts.append(part)
        return (Chunk("reasoning" if part.get("thought") else "text", text),) if text else ()

    def _add_call(self, last: dict[str, Any], part: dict[str, Any]) -> Chunk:
        """Add a call; one without a name continues the last one."""
        call = part["functionCall"]
        arguments = as_object(call.get("args"))
        before = last.get("functionCall") or {}
        is_same = bool(call.get("id")) and call["id"] == before.get("id")
        if before and (is_same or not call.get("name")):
            merged = {**before, "args": {**before["args"], **arguments}}
            last |= {**part, "functionCall": merged}
        else:
            call = {**call, "name": call.get("name") or "", "args": arguments}
            self._parts.append({**part, "functionCall": call})
        return Chunk("tool", json.dumps(arguments))

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        if not self._candidate:
            return self._response
        content = {"role": "model", "parts": self._parts}
        return {**self._response, "candidates": [{**self._candidate, "content": content}]}


def _same_kind(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two parts belong to one text. Parts with a signature stay separate."""
    plain = "text" in first and "text" in second and {*first, *second} <= _PLAIN
    return plain and first.get("thought") == second.get("thought")


def is_reply(body: Mapping[str, Any]) -> bool:
    """See StreamProtocol. A response without candidates says why the prompt was blocked."""
    if body.get("candidates"):
        return True
    if blocked := (body.get("promptFeedback") or {}).get("blockReason"):
        reason = f"the provider blocked the prompt: {blocked}"
        raise ModelRefused(reason, status=200, kind=ErrorKind.POLICY)
    return False


def streamed(request: httpx.Request) -> httpx.Request:
    """See StreamProtocol: the path chooses streaming."""
    path = request.url.path
    if path.endswith(_WHOLE):
        path = path.removesuffix(_WHOLE) + _STREAMED
        request.url = request.url.copy_with(path=path, params={"alt": "sse"})
    return request
