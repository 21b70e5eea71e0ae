"""The parts that quirks consist of: conditions on bodies, edits of replies, edits of responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.quirk import (
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    Turn,
    When,
    always,
    each_event,
    sends,
)

from lab.provider import Reply, ToolCall


def object_choice(received: ReceivedRequest) -> bool:
    """For requests that name a tool as an object (OpenAI's `tool_choice`)."""
    return isinstance(received.body.get("tool_choice"), dict)


def forced(received: ReceivedRequest) -> bool:
    """For requests that force a tool in any way (OpenAI's `tool_choice`)."""
    return received.body.get("tool_choice") not in (None, "auto", "none")


def with_calls(edit: Callable[[ToolCall], ToolCall]) -> Callable[[Reply], Turn]:
    """Edit each tool call of a reply."""
    return lambda reply: replace(reply, tool_calls=tuple(map(edit, reply.tool_calls)))


def as_text(write: Callable[[ToolCall], str]) -> Callable[[Reply], Turn]:
    """A reply with its tool calls in its text."""

    def edit(reply: Reply) -> Turn:
        if not reply.tool_calls:
            return reply
        return replace(
            reply, text=reply.text + "".join(map(write, reply.tool_calls)), tool_calls=()
        )

    return edit


def arguments_json(call: ToolCall) -> str:
    """The arguments of a call as JSON."""
    return call.args if isinstance(call.args, str) else json.dumps(call.args)


def each_choice(edit: Callable[[dict[str, Any]], Any], when: When = always) -> Quirk:
    """OpenAI: edit the first choice of each chunk in place."""

    def of_event(event: Event) -> Event:
        if event.get("choices"):
            edit(event["choices"][0])
        return event

    return each_event(of_event, when)


def each_delta(edit: Callable[[dict[str, Any]], Any], when: When = always) -> Quirk:
    """OpenAI: edit the delta of each chunk in place."""
    return each_choice(lambda choice: edit(choice["delta"]), when)


def each_call_part(edit: Callable[[dict[str, Any]], Any], when: When = always) -> Quirk:
    """OpenAI: edit each part of a streamed call in place."""

    def of_delta(delta: dict[str, Any]) -> None:
        for part in delta.get("tool_calls") or ():
            edit(part)

    return each_delta(of_delta, when)


def finish(reason: Any, when: When = always) -> Quirk:
    """OpenAI: another finish reason at the end of each reply."""

    def of_choice(choice: dict[str, Any]) -> None:
        if choice["finish_reason"] is not None:
            choice["finish_reason"] = reason

    return each_choice(of_choice, when)


def ends_with(reason: Any, when: When = always) -> Quirk:
    """All formats: another reason for the end of each reply."""

    def edit(event: Event) -> Event:
        choices, candidates = event.get("choices"), event.get("candidates")
        if choices and choices[0]["finish_reason"] is not None:
            choices[0]["finish_reason"] = reason
        elif candidates and candidates[0].get("finishReason"):
            candidates[0]["finishReason"] = reason
        elif event.get("type") == "message_delta":
            event["delta"]["stop_reason"] = reason
        elif event.get("done"):
            event["done_reason"] = reason
        return event

    return each_event(edit, when)


def with_arguments(edit: Callable[[Any], Any], when: When = always) -> Quirk:
    """All formats: other arguments of each call, which are any JSON."""

    def of_call(call: ToolCall) -> ToolCall:
        return replace(call, args=json.dumps(edit(call.args)))

    def of_event(event: Event) -> Event:
        for candidate in event.get("candidates") or ():
            for part in candidate["content"]["parts"]:
                if "functionCall" in part:
                    part["functionCall"]["args"] = edit(part["functionCall"]["args"])
        for call in (event.get("message") or {}).get("tool_calls") or ():
            call["function"]["arguments"] = edit(call["function"]["arguments"])
        return event

    def of_reply(received: ReceivedRequest, reply: Reply) -> Turn:
        as_text = received.request.wire in ("openai", "anthropic") and when(received)
        return with_calls(of_call)(reply) if as_text else reply

    return Quirk(say=of_reply, send=each_event(of_event, when).send)


def typed(content_type: str, when: When = always) -> Quirk:
    """Another content type of the response."""
    return sends(lambda sent: replace(sent, content_type=content_type), when)


def paced(seconds: float, when: When = always) -> Quirk:
    """A pause before each event."""

    def edit(sent: Sent) -> Sent:
        return replace(sent, items=[part for item in sent.items for part in (seconds, item)])

    return sends(edit, when)
