"""Bodies: content types, line ends, framing, and events that do not belong to the reply."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_choice, typed
from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    answers,
    each_event,
    says,
    second_call,
    sends,
)
from support.quirks.row import (
    Row,
    anthropic,
    does_not_succeed,
    gemini,
    ollama,
    on_all,
    openai,
)

from lab.provider.wire import DIALECTS


def in_bytes(edit: Callable[[bytes], Sequence[bytes | float] | bytes]) -> Quirk:
    """Edit the framed stream as one text of bytes."""

    def send(received: ReceivedRequest, sent: Sent) -> Sent:
        frame = DIALECTS[received.request.wire].framed
        written = b"".join(
            item
            if isinstance(item, bytes)
            else frame(item if isinstance(item, str) else json.dumps(item))
            for item in sent.items
            if not isinstance(item, float)
        )
        edited = edit(written)
        return replace(sent, items=[edited] if isinstance(edited, bytes) else list(edited))

    return Quirk(send=send)


def unstreamed(content_type: str = "application/json") -> Quirk:
    """The reply is one JSON body, as if the request had not asked for a stream."""

    def send(received: ReceivedRequest, sent: Sent) -> Sent:
        body = _folded(received, [item for item in sent.items if isinstance(item, dict)])
        return replace(sent, items=[json.dumps(body).encode()], content_type=content_type)

    return Quirk(send=send)


def _folded(received: ReceivedRequest, events: Sequence[Event]) -> Mapping[str, Any]:
    """The complete body of a reply, from the events of a plain server."""
    from agents.models.streams import ANTHROPIC, GEMINI, OLLAMA, OPENAI  # noqa: PLC0415

    protocols = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "ollama": OLLAMA}
    assembler = protocols[received.request.wire].assembler()
    for event in events:
        assembler.feed(event)
    return assembler.result()


def _multi_line(stream: bytes) -> bytes:
    """Each event's JSON over several `data:` lines."""
    lines = []
    for line in stream.split(b"\n"):
        if line.startswith(b"data: {"):
            text = json.dumps(json.loads(line[6:]), indent=1).encode()
            lines += [b"data: " + part for part in text.split(b"\n")]
        else:
            lines.append(line)
    return b"\n".join(lines)


def _bytewise(stream: bytes) -> Sequence[bytes]:
    return [stream[start : start + 7] for start in range(0, len(stream), 7)]


def _headed_frames(stream: bytes) -> bytes:
    return stream.replace(b"data: ", b"id: 1\nretry: 3000\nevent: message\ndata: ")


_SSE = (openai, anthropic, gemini)


def _on_sse(title: str, *quirks: Quirk, **more: Any) -> list[Row]:
    return [row(title, *quirks, **more) for row in _SSE]


def _after_each(extra: bytes) -> Quirk:
    return sends(
        lambda sent: replace(sent, items=[part for item in sent.items for part in (item, extra)])
    )


def _at_start(extra: Any) -> Quirk:
    return sends(lambda sent: replace(sent, items=[extra, *sent.items]))


def _part_alone(choice: dict[str, Any]) -> None:
    if text := choice["delta"].get("content"):
        choice["delta"]["content"] = {"type": "text", "text": text}


ROWS: list[Row] = [
    *[
        row
        for kind in (
            "application/json",
            "text/plain; charset=utf-8",
            "application/octet-stream",
            "",
        )
        for row in on_all(f"a stream has the content type {kind!r}", typed(kind))
    ],
    ollama("lines of JSON have the content type of server-sent events", typed("text/event-stream")),
    ollama(
        "a proxy frames the lines as server-sent events",
        in_bytes(
            lambda stream: b"".join(b"data: " + line + b"\n\n" for line in stream.splitlines())
        ),
        typed("text/event-stream"),
    ),
    *on_all("the reply is one JSON body", unstreamed()),
    *on_all(
        "the reply is one JSON body with the content type of a stream",
        unstreamed("text/event-stream"),
    ),
    *on_all("the reply is one JSON body without a content type", unstreamed("")),
    openai(
        "the reply is one JSON body, after blank lines",
        unstreamed(),
        sends(lambda sent: replace(sent, items=[b"\n\n   \n", *sent.items])),
    ),
    gemini(
        "a proxy drops ?alt=sse: the stream is a JSON array",
        sends(
            lambda sent: replace(
                sent,
                items=[json.dumps([i for i in sent.items if isinstance(i, dict)]).encode()],
                content_type="application/json; charset=UTF-8",
            )
        ),
    ),
    *_on_sse("lines end with CR alone", in_bytes(lambda stream: stream.replace(b"\n", b"\r"))),
    *on_all("lines end with CR and LF", in_bytes(lambda stream: stream.replace(b"\n", b"\r\n"))),
    *_on_sse("events have several data lines", in_bytes(_multi_line)),
    *_on_sse(
        "events have several data lines that end with CR alone",
        in_bytes(lambda stream: _multi_line(stream).replace(b"\n", b"\r")),
    ),
    *on_all("the body begins with a byte order mark", in_bytes(lambda s: b"\xef\xbb\xbf" + s)),
    *on_all("the body begins with blank lines", in_bytes(lambda s: b"\n\n\n" + s)),
    *_on_sse("there is no blank after data:", in_bytes(lambda s: s.replace(b"data: ", b"data:"))),
    *_on_sse("the last event has no blank line after it", in_bytes(lambda s: s.rstrip(b"\n"))),
    *_on_sse("events have an id, a retry time and a name", in_bytes(_headed_frames))[::2],
    *on_all("seven bytes a chunk", in_bytes(_bytewise)),
    *_on_sse("a comment follows each event", _after_each(b": keep-alive\n\n")),
    *_on_sse("an event without data follows each event", _after_each(b"event: ping\n\n")),
    openai("`data: null` follows each event", _after_each(b"data: null\n\n")),
    openai("`data: {}` follows each event", _after_each(b"data: {}\n\n")),
    openai("`data:` follows each event", _after_each(b"data:\n\n")),
    openai("a text that is no JSON follows each event", _after_each(b"data: keep-alive\n\n")),
    openai("[DONE] has blanks around it", in_bytes(lambda s: s.replace(b"[DONE]", b" [DONE]  "))),
    openai("[DONE] is missing", sends(lambda sent: replace(sent, items=sent.items[:-1]))),
    openai("[DONE] comes twice", sends(lambda sent: replace(sent, items=[*sent.items, "[DONE]"]))),
    openai(
        "something comes after [DONE]",
        sends(lambda sent: replace(sent, items=[*sent.items, b"data: trailing\n\n"])),
    ),
    openai(
        "the prefix data: comes twice",
        in_bytes(lambda s: s.replace(b"data: ", b"data: data: ")),
    ),
    openai(
        "Azure's first event has no choices",
        _at_start({"choices": [], "prompt_filter_results": [{"prompt_index": 0}]}),
    ),
    openai("choices are null at first", _at_start({"id": "x", "choices": None})),
    openai(
        "a delta is null at the end",
        each_choice(lambda choice: choice.update(delta=None) if choice["finish_reason"] else None),
    ),
    openai(
        "a delta is missing at the end",
        each_choice(lambda choice: choice.pop("delta") if choice["finish_reason"] else None),
    ),
    openai("the error of each event is null", each_event(lambda event: {**event, "error": None})),
    openai(
        "the usage of each event is null",
        each_event(lambda event: {**event, "usage": event.get("usage")}),
    ),
    openai(
        "each event has its own id and time",
        each_event(lambda event: {**event, "id": "", "created": None, "system_fingerprint": "x"}),
    ),
    openai(
        "ids, objects and models are missing",
        each_event(
            lambda event: {name: event[name] for name in ("choices", "usage") if name in event}
        ),
    ),
    openai(
        "logprobs and odd fields are in each choice",
        each_choice(
            lambda choice: choice.update(logprobs={"content": []}, stop_reason=None, token_ids=None)
        ),
    ),
    *on_all("the body is empty, once", answers(SECOND_CALL_ONCE, 200, b"", "text/event-stream")),
    *on_all(
        "the body is always empty",
        answers(second_call, 200, b"", "text/event-stream"),
        end=does_not_succeed(),
    ),
    *on_all(
        "the body is half a JSON value, once",
        answers(SECOND_CALL_ONCE, 200, b'{"choices": [{"mess'),
    ),
    *on_all(
        "an event is half a JSON value, once",
        sends(
            lambda sent: replace(sent, items=[*sent.items[:1], b'data: {"id": "x\n\n']),
            SECOND_CALL_ONCE,
        ),
    ),
    *on_all(
        "the body is a JSON value of another kind, once",
        answers(SECOND_CALL_ONCE, 200, b'["no", "reply"]'),
    ),
    *on_all(
        "the body is an object of another kind, once",
        answers(SECOND_CALL_ONCE, 200, b'{"ok": true}'),
    ),
    *on_all("the whole reply is in one chunk", in_bytes(lambda stream: stream)),
    *on_all(
        "a status in the class of success that is not 200",
        sends(lambda sent: replace(sent, status=201)),
    ),
    *on_all(
        "texts have raw control characters",
        says(lambda reply: replace(reply, text=reply.text and f"{reply.text}\t")),
        in_bytes(lambda stream: stream.replace(rb"\t", b"\t")),
    ),
    openai("a content is an object", each_choice(_part_alone)),
]
