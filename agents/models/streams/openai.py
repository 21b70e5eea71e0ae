"""Chat completions: OpenAI, Groq, DeepSeek, OpenRouter, and most local servers.

Shapes: https://platform.openai.com/docs/api-reference/chat-streaming

By the specification, each piece of a tool call has the index of its call, and the first piece its
id and name. Many servers differ: all calls have index 0, or no call has an index; ids are empty,
constant, or new in each piece; names come in pieces, or again with each piece; the arguments come
as an object, or again in full at the end. So index, id and name together decide to which call a
piece belongs, and a piece begins another call only if the call before it is complete, or clearly
another call.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.models.error_mapping.mapping import error_in_reply
from agents.models.replies.arguments import as_object
from agents.models.streams.protocol import Chunk, joined

_REASONING = ("reasoning_content", "reasoning")
"""The key that DeepSeek, vLLM and llama.cpp use, and the key that Groq and OpenRouter use."""


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
        self.is_complete = False
        self._head: dict[str, Any] = {}
        self._choice: _Choice | None = None

    def feed(self, event: Mapping[str, Any]) -> Sequence[Chunk]:
        """See StreamAssembler."""
        if error := event.get("error") or event.get("detail"):
            raise error_in_reply(error)
        if event.get("object") == "error":  # SGLang's and older vLLM's
            raise error_in_reply(event)
        choices = event.get("choices") or ()
        usages = [event, event.get("x_groq") or {}, *choices]  # Groq's field, and Moonshot's
        for usage in [choice.get("usage") for choice in usages]:
            if usage and isinstance(usage, Mapping):
                self._head["usage"] = usage
        for name in ("id", "created", "model", "system_fingerprint", "service_tier", "provider"):
            if name in event:
                self._head[name] = event[name]
        chunks: list[Chunk] = []
        for choice in choices:
            if error := choice.get("error"):
                raise error_in_reply(error)
            if not {"delta", "message", "finish_reason"} & set(choice):
                continue
            self._choice = self._choice or _Choice()
            chunks += self._choice.feed(choice)
            self.is_complete = self.is_complete or self._choice.is_complete
        return chunks

    def result(self) -> dict[str, Any]:
        """See StreamAssembler."""
        choices = [self._choice.result()] if self._choice else []
        return {**_HEAD, **self._head, "choices": choices}


class _Choice:
    def __init__(self) -> None:
        self.is_complete = False
        self._finish: str | None = None
        self._message: dict[str, Any] = {"role": "assistant"}
        self._texts: dict[str, list[str]] = {}
        self._calls = ToolCalls()

    def feed(self, choice: Mapping[str, Any]) -> list[Chunk]:
        self._finish = choice.get("finish_reason") or self._finish
        delta, message = choice.get("delta"), choice.get("message")
        self.is_complete = self._finish is not None or bool(message)
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
        """Add to a text. A `message` may repeat the earlier text."""
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
                for listed_part in listed:
                    chunks += self._add_text(_REASONING[0], listed_part.get("text") or "")
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
    received: dict[str, Any] | None = body["choices"][0].get("message")
    return received


_ARGUMENTS = ("arguments", "parameters", "input")
"""The field with the arguments; models write the other names, and some servers pass them on."""
_READ = frozenset({"index", "id", "type", "function", "name", *_ARGUMENTS})
_DECODER = json.JSONDecoder()


class ToolCalls:
    """Assembles the calls of one reply."""

    def __init__(self) -> None:
        self._calls: list[_StreamedCall] = []

    def add(self, pieces: Iterable[Any]) -> list[str]:
        """Add the pieces of one event; returns the arguments in them."""
        listed = [piece for piece in pieces if isinstance(piece, Mapping)]
        return [
            self._add(piece, _index(piece, position if len(listed) > 1 else None))
            for position, piece in enumerate(listed)
        ]

    def _add(self, piece: Mapping[str, Any], index: int | None) -> str:
        function = piece.get("function")
        if not isinstance(function, Mapping):
            function = piece
        id_, name = _text(piece.get("id")), _text(function.get("name"))
        arguments = next((function[name] for name in _ARGUMENTS if name in function), None)
        if arguments is None:
            arguments = ""
        elif not isinstance(arguments, str):  # some servers send the object itself
            arguments = json.dumps(arguments)
        call = self._find(index, id_, name)
        if call is None or call.ends_before(index, id_, name, arguments):
            call = _StreamedCall(index)
            self._calls.append(call)
        call.add(id_, name, arguments)
        call.keep_others(piece, function)
        return arguments

    def _find(self, index: int | None, id_: str, name: str) -> _StreamedCall | None:
        """The last call that this piece may belong to."""
        latest = self._calls[::-1]
        same_place = [call for call in latest if index is not None and call.index == index]
        same_id = [call for call in latest if id_ and call.id == id_]
        for call in same_id:
            if call in same_place or index is None or call.index is None:
                return call
        begins = bool(id_ or name)
        candidates = same_place or same_id or ([] if index is not None and begins else latest)
        return candidates[0] if candidates else None

    def result(self) -> list[dict[str, Any]]:
        """The calls in the form of a reply that is not streamed."""
        calls: list[_StreamedCall] = []
        for call in self._calls:
            if call.has_more_than(calls[-1] if calls else None):
                calls.append(call)
        return [call.result() for call in sorted(calls, key=lambda call: call.index or 0)]


class _StreamedCall:
    def __init__(self, index: int | None) -> None:
        self.index = index
        self.id = ""
        self.name = ""
        self._other_fields: dict[str, Any] = {}
        self._others_of_function: dict[str, Any] = {}
        self._pieces: list[str] = []

    def add(self, id_: str, name: str, arguments: str) -> None:
        self.id = self.id or id_
        if name.startswith(self.name):  # the first, the same, or the whole after a beginning
            self.name = name
        elif not self._pieces:
            self.name += name
        if arguments:
            self._pieces.append(arguments)

    def keep_others(self, piece: Mapping[str, Any], function: Mapping[str, Any]) -> None:
        """Add the fields that are not read here, such as `extra_content`."""
        parts = [(self._other_fields, piece)]
        if function is not piece:
            parts.append((self._others_of_function, function))
        for stored, more in parts:
            for name in more.keys() - _READ:
                stored[name] = joined(stored.get(name), more[name])

    def ends_before(self, index: int | None, id_: str, name: str, arguments: str) -> bool:
        """Whether this piece begins another call."""
        differs = bool(id_ and self.id and id_ != self.id) or (
            index is not None and self.index is not None and index != self.index
        )
        if differs and name and self.name and name != self.name:
            return True
        if not differs and (not name or name == self.name):
            repeated = bool(id_) or _value(arguments) == _value(self.arguments())
            return bool(name) and not repeated and self._is_complete()
        return self._is_complete()

    def has_more_than(self, call: _StreamedCall | None) -> bool:
        """Whether this is a call, and not only an id or a name that was sent again."""
        if self.arguments().strip():
            return True
        return bool(self.name) and (call is None or bool(self.id) or self.name != call.name)

    def _is_complete(self) -> bool:
        ends = bool(self._pieces) and self._pieces[-1].rstrip().endswith("}")
        return ends and isinstance(_value(self.arguments()), dict)

    def arguments(self) -> str:
        """The arguments as JSON text; invalid text stays unchanged."""
        text = "".join(self._pieces)
        objects = _objects(text)
        if objects is None:
            *_, before, last = ["", "", *self._pieces]
            repeats = bool(before) and last.startswith(before)  # each piece repeats the last one
            return last if repeats and isinstance(_value(last), dict) else text
        filled = [candidate for candidate in objects if candidate]
        if len(objects) > 1 and all(
            candidate == filled[0] for candidate in filled
        ):  # {} first, or a copy
            return json.dumps(filled[0] if filled else {})
        return text

    def result(self) -> dict[str, Any]:
        standard = {"name": self.name, "arguments": self.arguments()}
        function = {**self._others_of_function, **standard}
        names = {"id": self.id or None, "type": "function", "function": function}
        return {**self._other_fields, **names}


def _index(piece: Mapping[str, Any], default: int | None) -> int | None:
    index = piece.get("index")
    if isinstance(index, str) and index.isdecimal():
        return int(index)
    return index if type(index) is int else default


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _objects(text: str) -> list[dict[str, Any]] | None:
    """The JSON objects that the text is a sequence of; None if it is anything else."""
    objects: list[dict[str, Any]] = []
    unread = text.strip()
    while unread:
        try:
            value, end = _DECODER.raw_decode(unread)
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict):
            return None
        objects.append(value)
        unread = unread[end:].lstrip()
    return objects
