"""How replies end: empty, broken off, with unusual words, and without a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_choice, finish
from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    When,
    both,
    each_event,
    first,
    first_call,
    role,
    says,
    second_call,
    sends,
)
from support.quirks.row import (
    Row,
    anthropic,
    does_not_succeed,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
)

from lab.provider import Reply

_HALF = "It prints"


def _says(reply: Reply, when: When) -> Quirk:
    return says(lambda _reply: reply, when)


def ends(reason: Any, when: When) -> Quirk:
    """Another reason at the end of a reply, in any wire format."""
    openai_ends = finish(reason, when)

    def of_event(event: Event) -> Event:
        for candidate in event.get("candidates") or ():
            if "finishReason" in candidate:
                candidate["finishReason"] = reason
        if event.get("type") == "message_delta":
            event["delta"]["stop_reason"] = reason
        if event.get("done"):
            event["done_reason"] = reason
        return event

    def send(received: ReceivedRequest, sent: Sent) -> Sent:
        if received.request.wire == "openai":
            return openai_ends.send(received, sent)
        return sent.with_events(of_event) if when(received) else sent

    return Quirk(send=send)


def broken(reason: Any, when: When) -> Quirk:
    """Half a sentence, with this reason for its end."""
    return Quirk(say=_says(Reply(_HALF), when).say, send=ends(reason, when).send)


def _without_end(sent: Sent) -> Sent:
    """No finish reason in any chunk; `[DONE]` follows."""

    def edit(event: Event) -> Event:
        for choice in event.get("choices") or ():
            choice["finish_reason"] = None
        return event

    return sent.with_events(edit)


def _stops_after_text(sent: Sent) -> Sent:
    """The stream ends normally, without a reason and without `[DONE]`."""
    remaining_items = [item for item in sent.items if item != "[DONE]"]
    return _without_end(replace(sent, items=remaining_items[:-2]))


def _error_within(error: Event) -> Callable[[Sent], Sent]:
    """An error instead of the second half of a stream."""
    return lambda sent: replace(sent, items=[*sent.items[: len(sent.items) // 2], error])


def _bad(reason: str, wire: Any) -> list[Row]:
    """A reply with a bad end: it is requested once more, then a fallback is called, or the error
    names it.
    """
    return [
        wire(f"half a sentence ends with {reason}, once", broken(reason, SECOND_CALL_ONCE)),
        wire(
            f"half a sentence always ends with {reason}: the stand-in answers",
            broken(reason, second_call),
            stand_in=(),
        ),
        wire(
            f"half a sentence always ends with {reason}: the reason is named",
            broken(reason, second_call),
            end=does_not_succeed(reason),
        ),
    ]


_BLANKS = {
    "nothing": Reply(""),
    "white space": Reply(" \n\n "),
    "thoughts alone": Reply("", thoughts="I have to say that it prints 42."),
}

ROWS: list[Row] = [
    *[
        row
        for title, reply in _BLANKS.items()
        for row in [
            *on_all(f"the answer is {title}, once", _says(reply, SECOND_CALL_ONCE)),
            *on_all(
                f"the answer is always {title}: the stand-in answers",
                _says(reply, second_call),
                stand_in=(),
            ),
            *on_all(
                f"the answer is always {title}: the reason is named",
                _says(reply, second_call),
                end=does_not_succeed("empty" if title != "thoughts alone" else ""),
            ),
        ]
    ],
    *on_all("the plan is nothing, once", _says(Reply(""), both(role("planner"), first()))),
    *on_all("the verdict is nothing, once", _says(Reply(""), both(role("critic"), first()))),
    *on_all(
        "the verdict is always nothing: the stand-in judges",
        _says(Reply(""), role("critic")),
        stand_in=(),
    ),
    *[row for reason in ("error", "abort", "network_error") for row in _bad(reason, openai)],
    *[
        row
        for reason in (
            "OTHER",
            "UNEXPECTED_TOOL_CALL",
            "MALFORMED_RESPONSE",
            "LANGUAGE",
            "TOO_MANY_TOOL_CALLS",
        )
        for row in _bad(reason, gemini)
    ],
    gemini(
        "a broken call, once",
        says(
            lambda r: replace(
                r, tool_calls=tuple(replace(call, args='{"code": ') for call in r.tool_calls)
            ),
            both(first_call, first()),
        ),
    ),
    gemini(
        "no text and the reason STOP, once", _says(Reply(""), SECOND_CALL_ONCE), most_requests=6
    ),
    openai(
        "[DONE] without a finish reason, to Groq's client",
        sends(_without_end),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "a stream of a text stops without a reason and without [DONE], once",
        sends(_stops_after_text, SECOND_CALL_ONCE),
    ),
    openai(
        "a stream of a text always stops without a reason and without [DONE]",
        sends(_stops_after_text, second_call),
        end=does_not_succeed("broke off"),
    ),
    openai(
        "a stream of a call stops without a reason and without [DONE], once",
        sends(_stops_after_text, both(first_call, first())),
    ),
    *[
        openai(f"the finish reason is {reason!r}", finish(reason))
        for reason in (
            "eos",
            "end_turn",
            "COMPLETE",
            "completed",
            "stop_sequence",
            "STOP",
            "unknown",
        )
    ],
    openai(
        "the finish reason is an empty text, with [DONE]",
        finish(""),
    ),
    openai(
        "the finish reason is a number, once",
        each_choice(
            lambda choice: choice.update(finish_reason=0 if choice["finish_reason"] else None),
            SECOND_CALL_ONCE,
        ),
    ),
    openai(
        "a finish reason is in each chunk",
        each_choice(lambda choice: choice.update(finish_reason="stop"), second_call),
    ),
    openai(
        "a choice with an index of its own",
        each_choice(lambda choice: choice.update(index=1)),
    ),
    *[
        anthropic(f"the stop reason is {reason!r}", ends(reason, second_call))
        for reason in ("stop_sequence", "stop", "odd_reason")
    ],
    anthropic("the stop reason is null", ends(None, second_call)),
    anthropic("the stop reason is pause_turn, once", broken("pause_turn", SECOND_CALL_ONCE)),
    *[
        ollama(f"the done reason is {reason!r}", ends(reason, second_call))
        for reason in ("eos", "odd", None)
    ],
    ollama(
        "the model was only loaded, once",
        Quirk(say=_says(Reply(""), SECOND_CALL_ONCE).say, send=ends("load", SECOND_CALL_ONCE).send),
    ),
    ollama(
        "a stream stops without `done`, once",
        sends(lambda sent: replace(sent, items=sent.items[:-1]), SECOND_CALL_ONCE),
    ),
    *[
        wire(
            "an error comes within the stream, once",
            sends(_error_within(error), SECOND_CALL_ONCE),
        )
        for wire, error in (
            (openai, {"error": {"message": "Upstream error", "code": 502}}),
            (
                anthropic,
                {"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}},
            ),
            (gemini, {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
            (ollama, {"error": "an error was encountered while running the model"}),
        )
    ],
    openai(
        "an error comes within the stream with a code as text, once",
        sends(
            _error_within({"error": {"message": "Internal error", "code": "500"}}),
            SECOND_CALL_ONCE,
        ),
    ),
    openai(
        "a refusal comes within the stream with a code as text",
        sends(
            _error_within({"error": {"message": "Invalid API key", "type": "None", "code": "401"}}),
            second_call,
        ),
        end=fails("the key is not accepted", "FETTLE_COMPATIBLE_API_KEY"),
    ),
    openai(
        "OpenRouter ends with the reason error and an error object, once",
        each_event(
            lambda event: (
                {
                    **event,
                    "error": {"code": 502, "message": "Provider disconnected"},
                }
                if event.get("choices") and event["choices"][0]["finish_reason"]
                else event
            ),
            SECOND_CALL_ONCE,
        ),
        name="openrouter:some/model",
    ),
    openai(
        "content_filter is a refusal", finish("content_filter", second_call), end=fails("declined")
    ),
    openai(
        "the reply is a call that was cut at its limit, once",
        says(
            lambda reply: replace(
                reply,
                stop="length",
                tool_calls=tuple(
                    replace(call, args='{"code": "print(6') for call in reply.tool_calls
                ),
            ),
            both(first_call, first()),
        ),
    ),
    gemini("SAFETY is a refusal", ends("SAFETY", second_call), end=fails("declined", "SAFETY")),
    anthropic(
        "refusal is a refusal",
        _says(Reply(refusal="I can not."), second_call),
        end=fails("declined"),
    ),
]
