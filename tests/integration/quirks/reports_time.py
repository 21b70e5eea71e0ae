"""Slow, silent and broken streams. All times are short: the limits are set to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from support.quirks.edits import paced
from support.quirks.quirk import (
    Quirk,
    ReceivedRequest,
    Sent,
    both,
    first,
    first_call,
    plays,
    refuses,
    says,
    second_call,
    sends,
)
from support.quirks.row import Row, does_not_succeed, on_all, openai, waits
from support.quirks.server import ANSWER, competent

from lab.provider import Cut, Hang, Reply, Turn
from lab.provider.wire import DIALECTS

SILENCE = 0.3
"""The limit on silence in these rows, in seconds."""
_SHORT: Mapping[str, Any] = {
    "connect_seconds": 0.1,
    "first_token_seconds": SILENCE,
    "total_seconds": 1.2,
}
_LONG = ANSWER + " It does." * 60


def _writes_much(received: ReceivedRequest) -> Turn:
    turn = competent(received)
    return replace(turn, text=_LONG) if isinstance(turn, Reply) and turn.text else turn


def _inserted(position: int, *items: bytes | float) -> Quirk:
    """These items before the event with this number of the second executor's call."""
    return sends(
        lambda sent: replace(sent, items=[*sent.items[:position], *items, *sent.items[position:]]),
        second_call,
    )


def _alive(seconds: float, position: int = 0) -> Quirk:
    """Heartbeats for this number of seconds, in the form of the wire format."""

    def edit(received: ReceivedRequest, sent: Sent) -> Sent:
        if not second_call(received):
            return sent
        beat = DIALECTS[received.request.wire].sign_of_life
        beats: Sequence[bytes | float] = [beat, SILENCE / 3] * round(3 * seconds / SILENCE)
        return replace(sent, items=[*sent.items[:position], *beats, *sent.items[position:]])

    return Quirk(send=edit)


def _stays_open(seconds: float) -> Quirk:
    return sends(lambda sent: replace(sent, items=[*sent.items, seconds]), second_call)


def _held_back(seconds: float) -> Quirk:
    """The server sends the text, and then holds the tool call back until it is complete."""

    def edit(sent: Sent) -> Sent:
        position = next(i for i, item in enumerate(sent.items) if "python" in str(item))
        return replace(sent, items=[*sent.items[:position], seconds, *sent.items[position:]])

    text = says(lambda reply: replace(reply, text="I run a program."), first_call)
    return Quirk(say=text.say, send=sends(edit, first_call).send)


ROWS: list[Row] = [
    *on_all(
        "a stream that is slower than the limit on a whole call",
        paced(SILENCE / 10),
        model=_writes_much,
        answer=_LONG,
        options={"first_token_seconds": SILENCE, "total_seconds": 0.6},
    ),
    *on_all(
        "heartbeats for longer than the limit on silence",
        _alive(2 * SILENCE),
        options=_SHORT,
    ),
    *on_all(
        "heartbeats for longer than the limit on silence, within a reply",
        _alive(2 * SILENCE, position=2),
        options=_SHORT,
    ),
    *on_all(
        "heartbeats without end",
        plays(second_call, Hang(15, alive_seconds=0.05)),
        options={**_SHORT, "max_output_tokens": 64},
        end=does_not_succeed("FETTLE_MODEL_"),
    ),
    *on_all(
        "silence before the first token: the setting is named",
        plays(second_call, Hang(10)),
        options={**_SHORT, "max_retries": 1},
        end=waits("FETTLE_MODEL_FIRST_TOKEN_SECONDS"),
    ),
    *on_all(
        "silence within a reply, once",
        plays(both(second_call, first()), Hang(10, after=Reply(ANSWER))),
        options=_SHORT,
    ),
    *on_all(
        "a connection that breaks within a reply, once",
        plays(both(second_call, first()), Cut(Reply(ANSWER))),
    ),
    *on_all(
        "a connection that breaks before a reply, once",
        plays(both(second_call, first()), Cut()),
    ),
    *on_all(
        "a connection that always breaks within a reply: the identical call is not sent for ever",
        plays(second_call, Cut(Reply(ANSWER))),
        end=waits(),
        most_requests=8,
    ),
    *on_all(
        "the connection stays open after the end",
        _stays_open(SILENCE * 3),
        options=_SHORT,
    ),
    *on_all(
        "a tool call that the server holds back",
        _held_back(SILENCE * 1.7),
        options=_SHORT,
    ),
    openai(
        "empty deltas as heartbeats",
        _inserted(
            1,
            *[
                b'data: {"choices": [{"index": 0, "delta": {"content": ""}}]}\n\n',
                SILENCE / 3,
            ]
            * 6,
        ),
        options=_SHORT,
    ),
    openai("a late first byte within the limit", _inserted(0, SILENCE / 2), options=_SHORT),
    openai(
        "a stream that is cut at the limit on length is not repeated unchanged",
        plays(second_call, Reply("word " * 4000, pace_seconds=0.02)),
        options={
            "first_token_seconds": SILENCE,
            "total_seconds": 0.8,
            "max_output_tokens": 16,
            "tokens_per_second": 20.0,
        },
        end=does_not_succeed("FETTLE_"),
        most_requests=5,
    ),
    *on_all(
        "the server is overloaded for a moment",
        refuses(first(2), 503, "Loading model"),
    ),
    *on_all(
        "the server is always overloaded",
        refuses(second_call, 503, "Overloaded"),
        end=waits("Overloaded"),
    ),
]
