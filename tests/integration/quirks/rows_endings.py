"""Replies that are no answer, and endings in other words."""

from __future__ import annotations

from dataclasses import replace

from support.quirks.edits import arguments_json, ends_with
from support.quirks.quirk import ReceivedRequest, role, says, second_call
from support.quirks.row import Ran, Row, fails, on_all, openai, waits
from support.quirks.server import ANSWER

from agents.prompts import render
from lab.provider import Reply, Turn

_OTHER_WORDS = ("eos", "EOS_TOKEN", "Stop", "COMPLETE", "end_turn", "tool_use", "load")
_BROKEN_OFF = (
    "error",
    "abort",
    "network_error",
    "insufficient_system_resource",
    "timed_out",
    "disconnected",
)
_MISTAKES = (
    "OTHER",
    "repetition",
    "LANGUAGE",
    "UNEXPECTED_TOOL_CALL",
    "MALFORMED_RESPONSE",
    "TOO_MANY_TOOL_CALLS",
    "MISSING_THOUGHT_SIGNATURE",
    "NO_IMAGE",
    "pause_turn",
)
_ON_ALL = ("error", "OTHER")
"""The words that have rows for all formats."""
_EMPTY = Reply("")
_NO_ANSWERS = {
    "an empty reply": _EMPTY,
    "a reply of characters without width": Reply(" \n\u200b\u2060\ufeff"),
    "a reply of thoughts": Reply("", thoughts="I have run it, and it prints 42."),
    "a reply that was cut off before its answer": Reply("", stop="length"),
}
_NO_ANSWER = "two replies in a row are no answer"


def half(reply: Reply) -> Turn:
    """The first half of the text."""
    return replace(reply, text=reply.text[: len(reply.text) // 2])


def _as_json(reply: Reply) -> Turn:
    """The first call's arguments as the text."""
    return replace(reply, text=arguments_json(reply.tool_calls[0]), tool_calls=())


def untold(received: ReceivedRequest) -> bool:
    """For requests that do not name the fault of the last reply."""
    return "Your last reply" not in received.request.last_text


def _tells_the_model(ran: Ran) -> bool:
    return any("Your last reply" in request.last_text for request in ran.requests)


def _asks_the_stand_in_once(ran: Ran) -> bool:
    return len(ran.to_stand_in) == 1 and _tells_the_model(ran)


def _no_answer(title: str, reply: Reply) -> list[Row]:
    """The rows of a reply in place of the executor's answer, or of each step's first one."""
    return [
        *on_all(f"{title}, first in each step", says(lambda _: reply, untold)),
        *on_all(
            f"{title} in place of the answer",
            says(lambda _: reply, second_call),
            end=fails(_NO_ANSWER),
            check=_tells_the_model,
        ),
        openai(
            f"{title} in place of the answer, and a stand-in",
            says(lambda _: reply, second_call),
            stand_in=[],
            check=_asks_the_stand_in_once,
        ),
    ]


def _half_an_answer(reason: str, *, broke_off: bool) -> list[Row]:
    """The rows of half an answer that ends with a word of the server, or of the model's mistake."""

    def once(received: ReceivedRequest) -> bool:
        return second_call(received) and received.again == 0 and untold(received)

    title = f"half an answer that ends with {reason}"
    rows = [
        *on_all(f"{title}, once", says(half, once), ends_with(reason, once)),
        *on_all(
            title,
            says(half, second_call),
            ends_with(reason, second_call),
            end=(waits if broke_off else fails)(_NO_ANSWER, f"ended with `{reason}`"),
        ),
        openai(
            f"{title}, and a stand-in",
            says(half, second_call),
            ends_with(reason, second_call),
            stand_in=[],
        ),
    ]
    return [row for row in rows if row.wire == "openai" or reason in _ON_ALL]


ROWS: list[Row] = [
    *(row for title, reply in _NO_ANSWERS.items() for row in _no_answer(title, reply)),
    *(row for word in _BROKEN_OFF for row in _half_an_answer(word, broke_off=True)),
    *(row for word in _MISTAKES for row in _half_an_answer(word, broke_off=False)),
    *(
        row
        for word in _OTHER_WORDS
        for row in on_all(f"complete replies that end with {word}", ends_with(word))
    ),
    *on_all("empty plans", says(lambda _: _EMPTY, role("planner")), plan="default"),
    *on_all(
        "empty verdicts",
        says(lambda _: _EMPTY, role("critic")),
        end=fails("the critic's reply could not be read", "is empty"),
    ),
    *on_all(
        "verdicts in plain JSON that end with OTHER",
        says(_as_json, role("critic")),
        ends_with("OTHER", role("critic")),
        end=fails("the critic's reply could not be read"),
    ),
    openai("empty verdicts, and a stand-in", says(lambda _: _EMPTY, role("critic")), stand_in=[]),
    *(
        openai(
            f"a declined answer in {author}'s word",
            ends_with(word, second_call),
            end=fails("declined to answer").but_not("not accepted"),
        )
        for author, word in {"Gemini": "SAFETY", "Zhipu": "sensitive"}.items()
    ),
    openai(
        "a cut answer in an unknown word",
        ends_with("max_tokens_reached", second_call),
        answer=f"{ANSWER}\n\n{render('executor/cut_answer')}",
    ),
]
