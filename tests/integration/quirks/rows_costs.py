"""The charges for replies that are no answers, and for replies without usage figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.quirks.edits import finish
from support.quirks.quirk import Event, Sent, both, each_event, first, first_call, says, sends
from support.quirks.row import Ran, Row, fails, on_all, openai

from lab.provider import Reply, Tokens

CALLS = 4
"""The model calls of a small job."""
PAID = Tokens(input=1_000, output=20)
_once = both(first_call, first())


def charged(replies: int, of: int | None = None) -> Callable[[Ran], bool]:
    """Whether this number of replies was charged, and `of` them with the tokens of PAID."""

    def check(ran: Ran) -> bool:
        charges = ran.charges()
        matching = [
            charge
            for charge in charges
            if (charge.input_tokens, charge.output_tokens) == (1_000, 20)
        ]
        return len(charges) == replies and len(matching) == (replies if of is None else of)

    return check


def unreported(ran: Ran) -> bool:
    """Whether each call was charged, with neither tokens nor a cost."""
    charged = [
        (charge.input_tokens, charge.output_tokens, charge.cost_usd) for charge in ran.charges()
    ]
    return charged == [(0, 0, None)] * CALLS


def without_end(sent: Sent) -> Sent:
    """The response without its end, but with its usage."""

    def of_event(event: Event) -> Event | None:
        for choice in event.get("choices") or ():
            choice["finish_reason"] = None
        for candidate in event.get("candidates") or ():
            candidate.pop("finishReason", None)
        if event.get("type") == "message_delta":
            event["delta"]["stop_reason"] = None
        for name in ("done", "done_reason"):
            event.pop(name, None)
        return None if event.get("type") == "message_stop" else event

    edited = sent.with_events(of_event)
    return replace(edited, items=[item for item in edited.items if item != "[DONE]"])


def half(sent: Sent) -> Sent:
    """The first half of a response; then the connection breaks."""
    return replace(sent, items=sent.items[: len(sent.items) // 2], ends=False)


def no_choices(event: Event) -> Event:
    """OpenAI: an unreadable reply with its usage."""
    return {**event, "choices": []}


def _with_counts(edit: Callable[[int], Any]) -> Callable[[Event], Event]:
    """Edits each count of tokens in an event."""

    def of_value(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {inner: of_value(inner, item) for inner, item in value.items()}
        is_count = type(value) is int and ("token" in name.lower() or name.endswith("_count"))
        return edit(value) if is_count else value

    return lambda event: {name: of_value(name, value) for name, value in event.items()}


_COUNTS: dict[str, Callable[[int], Any]] = {
    "fractions": lambda count: count + 0.5,
    "texts": str,
    "texts of fractions": lambda count: f"{count}.0",
}
_paid = says(lambda reply: replace(reply, tokens=PAID))
_talks = says(lambda reply: replace(reply, text="I run a program, and then I tell."), first_call)

ROWS: list[Row] = [
    *on_all(
        "a reply breaks off after its usage",
        _paid,
        sends(without_end, _once),
        check=charged(CALLS + 1),
    ),
    openai(
        "a reply without choices has usage",
        _paid,
        each_event(no_choices, _once),
        check=charged(CALLS + 1),
    ),
    *on_all(
        "a reply is cut in its text",
        _paid,
        _talks,
        sends(half, _once),
        check=lambda ran: len(ran.charges()) == CALLS + 1,
    ),
    openai(
        "a reply is refused by a content filter",
        _paid,
        finish("content_filter", first_call),
        end=fails(),
        check=charged(2),
    ),
    *on_all(
        "an empty reply is paid for",
        _paid,
        says(lambda _reply: Reply(tokens=PAID), _once),
        check=charged(CALLS + 1),
    ),
    *(
        row
        for form, edit in _COUNTS.items()
        for row in on_all(
            f"counts of tokens are {form}",
            _paid,
            each_event(_with_counts(edit)),
            check=charged(CALLS),
        )
    ),
    *on_all(
        "counts of tokens are negative",
        each_event(_with_counts(lambda _: -1)),
        check=unreported,
    ),
    *on_all(
        "counts of tokens are words",
        each_event(_with_counts(lambda _: "many")),
        check=lambda ran: len(ran.charges()) == CALLS,
    ),
    *on_all(
        "no usage is reported",
        says(lambda reply: replace(reply, tokens=None)),
        check=unreported,
    ),
]
