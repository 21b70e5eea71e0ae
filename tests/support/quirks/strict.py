"""The rules of a strict server for requests, by wire format: ids, names, arguments, blanks.

All servers of the table have these rules, as the providers' own servers do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lab.provider.request import Wire

Body = Mapping[str, Any]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")


def objection(wire: Wire, body: Body) -> str | None:
    """The reason for which a strict server refuses the body; None if it accepts the body."""
    return next(_RULES[wire](body), None)


def _openai(body: Body) -> Iterator[str]:
    waiting: list[str] = []
    for position, message in enumerate(body["messages"]):
        at = f"messages.{position}"
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                yield f"{at}: 'tool' must follow 'tool_calls' with its tool_call_id"
                return
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            yield f"{at}: tool_call_ids without response messages: {waiting}"
        calls = message.get("tool_calls") or []
        yield from _openai_calls(at, calls)
        waiting = [call["id"] for call in calls]
        if not calls and _is_blank(message.get("content")):
            yield f"{at}: content is missing"
    if waiting:
        yield f"tool_call_ids without response messages: {waiting}"


def _openai_calls(at: str, calls: Sequence[Body]) -> Iterator[str]:
    ids = [call.get("id") for call in calls]
    if len({*ids}) < len(ids):
        yield f"{at}.tool_calls: an id is repeated: {ids}"
    for call in calls:
        if not _ID.fullmatch(call.get("id") or ""):
            yield f"{at}.tool_calls.id: {call.get('id')!r} does not match {_ID.pattern}"
        function = call["function"]
        if not _NAME.fullmatch(function.get("name") or ""):
            yield f"{at}.tool_calls.function.name: {function.get('name')!r} is not valid"
        if not isinstance(function.get("arguments"), str) or not _is_object(function["arguments"]):
            yield f"{at}.tool_calls.function.arguments: {function.get('arguments')!r} is no JSON"


def _anthropic(body: Body) -> Iterator[str]:
    if body["messages"][0]["role"] != "user":
        yield "messages: first message must use the user role"
    waiting: set[str] = set()
    known_ids: set[str] = set()
    for position, message in enumerate(body["messages"]):
        blocks = message["content"]
        at = f"messages.{position}"
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        if not blocks:
            yield f"{at}: all messages must have non-empty content"
        answered = {b["tool_use_id"] for b in blocks if b["type"] == "tool_result"}
        if answered != waiting:
            yield f"{at}: tool_use ids {waiting} need tool_result blocks, found {answered}"
        waiting = set()
        for block in blocks:
            if block["type"] == "text" and _is_blank(block["text"]):
                yield f"{at}: text content blocks must contain non-whitespace text"
            if block["type"] == "tool_use":
                yield from _anthropic_call(at, block, known_ids)
                waiting.add(block["id"])
        known_ids |= waiting
    if waiting:
        yield f"tool_use ids without tool_result blocks: {waiting}"


def _anthropic_call(at: str, block: Body, known_ids: set[str]) -> Iterator[str]:
    if not _ID.fullmatch(block["id"] or ""):
        yield f"{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
    if block["id"] in known_ids:
        yield f"{at}: `tool_use` ids must be unique"
    if not _NAME.fullmatch(block["name"] or ""):
        yield f"{at}.tool_use.name: {block['name']!r} is not valid"
    if not isinstance(block["input"], dict):
        yield f"{at}.tool_use.input: Input should be a valid dictionary"


def _gemini(body: Body) -> Iterator[str]:
    waiting: list[str] = []
    for position, content in enumerate(body["contents"]):
        at, parts = f"contents[{position}]", content.get("parts") or []
        if not parts:
            yield f"{at}.parts: must not be empty"
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if len(answers) != len(waiting):
            yield (
                "Please ensure that the number of function response parts is equal to the number "
                f"of function call parts of the function call turn ({at})"
            )
        for answer in answers:
            if answer.get("name") not in waiting:
                yield f"{at}: function_response.name {answer.get('name')!r} was not called"
        for part in parts:
            if "text" in part and _is_blank(part["text"]) and not part.get("thoughtSignature"):
                yield f"{at}: Unable to submit request because it must have a text parameter"
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        for call in calls:
            if not _GEMINI_NAME.fullmatch(call.get("name") or ""):
                yield f"{at}: function_call.name {call.get('name')!r} is not valid"
        waiting = [call["name"] for call in calls]


def _ollama(body: Body) -> Iterator[str]:
    for position, message in enumerate(body["messages"]):
        for call in message.get("tool_calls") or ():
            if not isinstance(call["function"]["arguments"], dict):
                yield f"messages.{position}: arguments are no object"
            if not call["function"]["name"]:
                yield f"messages.{position}: a tool call has no name"


_RULES: Mapping[Wire, Callable[[Body], Iterator[str]]] = {
    "openai": _openai,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}


def _is_blank(content: Any) -> bool:
    if isinstance(content, list):
        return all(part.get("type") == "text" and _is_blank(part["text"]) for part in content)
    return not (content or "").strip()


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False
