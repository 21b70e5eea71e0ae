"""Bodies that do not match their content type, or that have unusual frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.edits import typed
from support.quirks.quirk import Event, Quirk, Sent, each_event, sends
from support.quirks.row import Row, anthropic, gemini, ollama, on_all, openai, waits


def framed(frame: Callable[[str], bytes]) -> Quirk:
    """Another frame around each event; also around texts such as `[DONE]`."""

    def of_item(item: Any) -> Any:
        text = json.dumps(item) if isinstance(item, dict) else item
        return frame(text) if isinstance(text, str) else item

    return sends(lambda sent: replace(sent, items=[of_item(item) for item in sent.items]))


def data(line_end: str, *, space: str = " ", begin: str = "") -> Callable[[str], bytes]:
    """Frames of server-sent events with other line ends."""
    return lambda text: f"{begin}data:{space}{text}{line_end * 2}".encode()


def several_lines(text: str) -> bytes:
    """An event with its JSON on several lines."""
    if not text.startswith("{"):
        return f"data: {text}\n\n".encode()
    lines = json.dumps(json.loads(text), indent=1).split("\n")
    return "".join(f"data: {line}\n" for line in lines).encode() + b"\n"


def body_begins(begin: bytes) -> Quirk:
    """Bytes before the first event."""
    return sends(lambda sent: replace(sent, items=[begin, *sent.items]))


def body_ends(*end: Any, stays_open: bool = False) -> Quirk:
    """Items after the last event."""
    return sends(lambda sent: replace(sent, items=[*sent.items, *end], ends=not stays_open))


def without_done(sent: Sent) -> Sent:
    """The response without `[DONE]`."""
    return replace(sent, items=[item for item in sent.items if item != "[DONE]"])


def without_finish(event: Event) -> Event:
    """OpenAI: no finish reason."""
    for choice in event.get("choices") or ():
        choice["finish_reason"] = None
    return event


SSE_WIRES = (openai, anthropic, gemini)

ROWS: list[Row] = [
    *(
        row(f"events as {kind or 'no content type'}", typed(kind))
        for row in SSE_WIRES
        for kind in ("application/json", "text/plain; charset=utf-8", "")
    ),
    *(row("lines end with CR", framed(data("\r"))) for row in (openai, gemini)),
    *(row("lines end with CRLF", framed(data("\r\n"))) for row in (openai, gemini)),
    *(row("no space after the colon", framed(data("\n", space=""))) for row in (openai, gemini)),
    *(row("an event over several lines", framed(several_lines)) for row in SSE_WIRES),
    *(
        row("no blank line after an event", framed(lambda text: f"data: {text}\n".encode()))
        for row in (openai, gemini)
    ),
    *(row("a byte order mark", body_begins(b"\xef\xbb\xbf")) for row in SSE_WIRES),
    *on_all("blank lines first", body_begins(b"\n\r\n\n")),
    *(
        row("comments first, as JSON", typed("application/json"), body_begins(b": PROCESSING\n\n"))
        for row in SSE_WIRES
    ),
    openai("null as data", framed(lambda text: f"data: null\n\ndata: {text}\n\n".encode())),
    openai("objects in lines", framed(lambda text: f"{text}\n".encode()), typed("text/plain")),
    ollama("lines as JSON", typed("application/json")),
    ollama("lines as events", framed(lambda text: f"data: {text}\n\n".encode())),
    ollama("no content type", typed("")),
    openai("bytes after [DONE]", body_ends("data: {no json", b"\n\n<html>")),
    openai("open after [DONE]", body_ends(30.0), check=lambda ran: ran.seconds < 20),
    openai("cut after [DONE]", body_ends(stays_open=True)),
    openai("cut after the finish", sends(without_done), body_ends(stays_open=True)),
    openai("[DONE] without a finish reason", each_event(without_finish)),
    openai(
        "neither [DONE] nor a finish reason",
        each_event(without_finish),
        sends(without_done),
        end=waits("broke off"),
    ),
    openai("a finish reason without [DONE]", sends(without_done)),
    openai(
        "an error as text",
        sends(lambda _sent: Sent([b"event: error\ndata: no room left\n\n"], "text/event-stream")),
        end=waits("no room left"),
    ),
    *on_all(
        "a page in place of a reply",
        sends(lambda _sent: Sent([b"<html>Sign in</html>"], "text/html")),
        end=waits("a web page", "Sign in", "_BASE_URL"),
    ),
]
