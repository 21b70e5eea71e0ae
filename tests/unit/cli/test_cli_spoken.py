"""What a model says right now, in one line."""

from __future__ import annotations

from typing import Any

from support.servers.tiny_service import Answer

from cli.client.service import Service
from cli.follow.token_stream import StreamedText


def said(text: str, **changed: Any) -> dict[str, Any]:
    return {"call": "c1", "role": "executor", "part": "text", "text": text, "try": 1, **changed}


def test_words_add_up_and_the_last_line_is_shown() -> None:
    streamed = StreamedText().heard(said("First this.\nThen ")).heard(said("that"))
    assert streamed.last_words(80) == "executor: Then that"
    assert streamed.heard(said(" and more")).last_words(20) == "executor: t and more"
    assert StreamedText().last_words(80) == ""


def test_another_call_try_or_part_begins_anew() -> None:
    streamed = StreamedText().heard(said("half a wo"))
    for changed in ({"try": 2}, {"call": "c2"}, {"part": "reasoning"}):
        assert streamed.heard(said("whole", **changed)).text == "whole"


def test_of_a_tools_arguments_the_line_of_code_is_shown() -> None:
    streamed = StreamedText().heard(said('{"code": "import math\\nprint(\\"', part="tool"))
    assert streamed.last_words(80) == 'executor: print("'


def test_nothing_reaches_the_terminal_but_what_can_be_shown() -> None:
    assert "\x1b" not in StreamedText().heard(said("\x1b[31mred")).last_words(80)


def test_tokens_are_heard_between_events(tiny) -> None:
    events = "".join(
        f"event: {kind}\ndata: {data}\n{number}\n"
        for kind, data, number in (
            ("tokens", '{"call":"c","role":"critic","part":"text","text":"so","try":1}', ""),
            (
                "succeeded",
                '{"seq":1,"at":"2026-11-21T12:00:00.000Z","kind":"succeeded","data":{}}',
                "id: 1\n",
            ),
        )
    )
    tiny.on("GET /jobs/j1/events", Answer(200, events, {"Content-Type": "text/event-stream"}))
    heard: list[Any] = []
    with Service(tiny.url, "secret") as service:
        told = list(service.events("j1", hear=heard.append))
    assert [event.kind for event in told] == ["succeeded"]
    assert [each["text"] for each in heard] == ["so"]
