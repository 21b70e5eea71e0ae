"""Tool calls as servers stream them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from support.quirks.edits import each_call_part, each_delta
from support.quirks.quirk import Event, Quirk, ReceivedRequest, Sent, each_event, sends
from support.quirks.row import Row, anthropic, gemini, ollama, openai
from support.quirks.server import competent

from lab.provider import Reply, ToolCall, Turn

TWO = ("print(6 * 7)", "print('a second run')")


def two_calls(received: ReceivedRequest) -> Turn:
    """A competent model that makes two calls in one reply as the executor."""
    turn = competent(received)
    if received.role != "executor" or received.has_result:
        return turn
    return Reply(tool_calls=tuple(ToolCall("python", {"code": code}) for code in TWO))


def parts_of(event: Event) -> list[dict[str, Any]]:
    """OpenAI: the pieces of calls in a chunk."""
    deltas = [choice["delta"] for choice in event.get("choices") or ()]
    return [part for delta in deltas for part in delta.get("tool_calls") or ()]


def with_parts(edit: Callable[[list[dict[str, Any]], dict[str, Any]], Any]) -> Quirk:
    """OpenAI: edit the pieces of calls of each response; `edit` gets a chunk's pieces, and a
    dictionary that is empty at the beginning of the response."""

    def of_sent(sent: Sent) -> Sent:
        memory: dict[str, Any] = {}

        def of_event(event: Event) -> Event:
            if parts := parts_of(event):
                edit(parts, memory)
            return event

        return sent.with_events(of_event)

    return sends(of_sent)


def whole_calls(sent: Sent) -> Sent:
    """OpenAI: each call comes whole, in one chunk."""
    calls: dict[int, dict[str, Any]] = {}

    def of_event(event: Event) -> list[Event]:
        parts = parts_of(event)
        for part in parts:
            call = calls.setdefault(part["index"], {"function": {"arguments": ""}})
            arguments = call["function"]["arguments"] + part["function"].get("arguments", "")
            call |= {
                **part,
                "function": {**call["function"], **part["function"], "arguments": arguments},
            }
        if parts:
            return []
        ends = event.get("choices") and event["choices"][0]["finish_reason"]
        calls_in_full = [
            {**event, "choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}
            for call in (calls.values() if ends else ())
        ]
        return [*calls_in_full, event]

    return sent.with_events(of_event)


def named_again(parts: list[dict[str, Any]], memory: dict[str, Any]) -> None:
    for part in parts:
        stored = memory.setdefault(str(part["index"]), part)
        part["id"] = stored["id"]
        part["function"]["name"] = stored["function"]["name"]


def new_ids(parts: list[dict[str, Any]], memory: dict[str, Any]) -> None:
    for part in parts:
        memory["n"] = memory.get("n", 0) + 1
        part["id"] = f"call-{memory['n']}"


def split_names(event: Event) -> list[Event]:
    """OpenAI: the name of a call comes in two pieces."""
    part = next(iter(parts_of(event)), None)
    if part is None or not part["function"].get("name"):
        return [event]
    second = json.loads(json.dumps(event))
    name = part["function"]["name"]
    part["function"]["name"] = name[:3]
    parts_of(second)[0]["function"]["name"] = name[3:]
    parts_of(second)[0].pop("id")
    return [event, second]


def copied_arguments(sent: Sent) -> Sent:
    """OpenAI: the last chunk repeats the whole arguments of a call."""
    texts: dict[int, str] = {}

    def of_event(event: Event) -> list[Event]:
        for part in parts_of(event):
            texts[part["index"]] = texts.get(part["index"], "") + part["function"].get(
                "arguments", ""
            )
        if not (event.get("choices") and event["choices"][0]["finish_reason"]):
            return [event]
        copies = [
            {"index": index, "function": {"arguments": text}} for index, text in texts.items()
        ]
        copy = {**event, "choices": [{"index": 0, "delta": {"tool_calls": copies}}]}
        return [copy, event] if copies else [event]

    return sent.with_events(of_event)


def as_messages(event: Event) -> Event:
    """OpenAI: `message` in place of `delta`."""
    for choice in event.get("choices") or ():
        choice["message"] = choice.pop("delta")
    return event


def set_(**fields: Any) -> Quirk:
    """OpenAI: other fields of each piece of a call."""
    return each_call_part(lambda part: part.update(fields))


def without(*names: str) -> Quirk:
    """OpenAI: each piece of a call without these fields."""
    return each_call_part(lambda part: [part.pop(name, None) for name in names])


def argument_objects(part: dict[str, Any]) -> None:
    part["function"]["arguments"] = json.loads(part["function"]["arguments"])


def legacy(delta: dict[str, Any]) -> None:
    if parts := delta.pop("tool_calls", None):
        delta["function_call"] = parts[0]["function"]


def full_input(sent: Sent) -> Sent:
    """Anthropic: a block begins with its whole input, and no delta follows."""
    texts: dict[int, str] = {}
    for event in sent.items:
        if isinstance(event, dict) and event.get("delta", {}).get("type") == "input_json_delta":
            texts[event["index"]] = texts.get(event["index"], "") + event["delta"]["partial_json"]

    def of_event(event: Event) -> Event | None:
        if event.get("delta", {}).get("type") == "input_json_delta":
            return None
        if event["type"] == "content_block_start" and event["index"] in texts:
            event["content_block"]["input"] = json.loads(texts[event["index"]])
        return event

    return sent.with_events(of_event)


def drop(*types: str) -> Quirk:
    """Anthropic: no events of these types."""
    return each_event(lambda event: None if event["type"] in types else event)


def index_zero(event: Event) -> Event:
    return {**event, "index": 0} if "index" in event else event


def split_gemini_calls(sent: Sent) -> Sent:
    """Gemini: the name and the arguments of a call come in two events."""

    def of_event(event: Event) -> list[Event]:
        parts = event["candidates"][0]["content"]["parts"] if event.get("candidates") else []
        if not any("functionCall" in part for part in parts):
            return [event]
        (call,) = (part["functionCall"] for part in parts)
        names = {
            **event,
            "candidates": [{"content": {"parts": [{"functionCall": {"name": call["name"]}}]}}],
        }
        parts[0]["functionCall"] = {"args": call["args"]}
        return [names, event]

    return sent.with_events(of_event)


def empty_parts(event: Event) -> Event:
    for candidate in event.get("candidates") or ():
        content = candidate.setdefault("content", {})
        content["parts"] = [{}, {"text": None}, *content.get("parts", [])]
    return event


def text_arguments(event: Event) -> Event:
    for call in event.get("message", {}).get("tool_calls") or ():
        call["function"]["arguments"] = json.dumps(call["function"]["arguments"])
    return event


def two(title: str, *quirks: Quirk, row: Callable[..., Row] = openai) -> Row:
    """A row in which the executor makes two calls in one reply."""
    return row(f"two calls: {title}", *quirks, model=two_calls, programs=TWO)


ROWS: list[Row] = [
    openai("a null index", set_(index=None)),
    openai("no index", without("index")),
    openai("an index as text", each_call_part(lambda part: part.update(index=str(part["index"])))),
    openai("indexes from 1", each_call_part(lambda part: part.update(index=part["index"] + 1))),
    openai("a name in pieces", each_event(split_names)),
    openai("name and id in each piece", with_parts(named_again)),
    openai("a new id in each piece", with_parts(new_ids)),
    openai(
        "empty ids after the first piece", each_call_part(lambda part: part.setdefault("id", ""))
    ),
    openai("arguments as an object", sends(whole_calls), each_call_part(argument_objects)),
    openai("the arguments again at the end", sends(copied_arguments)),
    openai("a null type", set_(type=None)),
    openai("message in place of delta", each_event(as_messages)),
    openai("a call from before there were tools", each_delta(legacy)),
    two("all with index 0", set_(index=0)),
    two("all with index 0, whole", sends(whole_calls), set_(index=0)),
    two("null index", set_(index=None)),
    two("no index", without("index")),
    two("no index, whole, no ids", sends(whole_calls), without("index", "id")),
    two("index 3 and 7", each_call_part(lambda part: part.update(index=3 + 4 * part["index"]))),
    two("arguments again at the end", sends(copied_arguments)),
    anthropic("a block with its whole input", sends(full_input)),
    anthropic("no end of a block", drop("content_block_stop")),
    anthropic("no end of the message", drop("message_stop")),
    two("one index", each_event(index_zero), row=anthropic),
    anthropic(
        "pings and unknown events", each_event(lambda e: [{"type": "ping"}, {"type": "news"}, e])
    ),
    gemini("a call over two events", sends(split_gemini_calls)),
    gemini("empty parts", each_event(empty_parts)),
    ollama("arguments as text", each_event(text_arguments)),
    two("in one line each", row=ollama),
]
