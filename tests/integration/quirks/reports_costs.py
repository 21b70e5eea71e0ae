"""The charges for a reply, in whatever form the usage arrives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Event,
    Quirk,
    Sent,
    When,
    always,
    answers,
    both,
    each_event,
    first,
    plays,
    says,
    sends,
)
from support.quirks.row import Ran, Row, anthropic, gemini, ollama, on_all, openai
from support.quirks.server import ANSWER

from lab.provider import Cut, Reply, Tokens

_PRICED = "groq:openai/gpt-oss-20b"
_USUAL = (10, 5)
"""The tokens of each reply of a plain server: input and output."""


def charged(*, more: int = 0) -> Any:
    """A check: four replies are charged, and at least `more` tokens beyond them."""

    def check(ran: Ran) -> bool:
        tokens = sum(charge.input_tokens + charge.output_tokens for charge in ran.charges())
        least = 4 * sum(_USUAL)
        return tokens >= least + more if more else tokens == least

    return check


def _usage(edit: Any, when: When = always) -> Quirk:
    """OpenAI: another form of the usage."""

    def of_event(event: Event) -> Any:
        return edit(event) if event.get("usage") else event

    return each_event(of_event, when)


def _in_the_last_choice(sent: Sent) -> Sent:
    """The usage is in the event with the finish reason."""
    usage = next(e["usage"] for e in sent.items if isinstance(e, dict) and e.get("usage"))

    def edit(event: Event) -> Any:
        if event.get("usage"):
            return None
        if event["choices"][0]["finish_reason"]:
            event["usage"] = usage
        return event

    return sent.with_events(edit)


def _in_each(sent: Sent) -> Sent:
    """The usage so far is in each event (vLLM's continuous_usage_stats)."""
    events = [event for event in sent.items if isinstance(event, dict)]
    last = events[-1]["usage"]
    for position, event in enumerate(events[:-1]):
        so_far = min(position, last["completion_tokens"])
        event["usage"] = {**last, "completion_tokens": so_far, "total_tokens": 10 + so_far}
    return sent


def _within_the_choice(sent: Sent) -> Sent:
    """Moonshot's older form: the usage is a field of the choice."""
    usage = next(e["usage"] for e in sent.items if isinstance(e, dict) and e.get("usage"))

    def edit(event: Event) -> Any:
        if event.get("usage"):
            return None
        if event["choices"][0]["finish_reason"]:
            event["choices"][0]["usage"] = usage
        return event

    return sent.with_events(edit)


def _unknown(ran: Ran) -> bool:
    """No cost is charged, and the reason is that no usage was reported."""
    model_calls = ran.events("model_called")
    return all(model_call.get("cost_usd") is None for model_call in model_calls)


def _charged_without_usage(ran: Ran) -> bool:
    """A fifth reply is charged without tokens: its usage comes at its end."""
    lost = [charge for charge in ran.charges() if not charge.input_tokens + charge.output_tokens]
    return len(lost) == 1 and lost[0].cost_usd is None and charged()(ran)


def _without_tokens(reply: Reply) -> Reply:
    return replace(reply, tokens=None)


_NO_USAGE = each_event(
    lambda event: {
        name: {k: v for k, v in value.items() if k != "usage"} if name == "message" else value
        for name, value in event.items()
        if name != "usage"
    }
)


ROWS: list[Row] = [
    *on_all("the usual tokens are charged", check=charged()),
    openai(
        "usage in the event with the finish reason", sends(_in_the_last_choice), check=charged()
    ),
    openai("usage so far in each event", sends(_in_each), check=charged()),
    openai("usage as a field of the choice", sends(_within_the_choice), check=charged()),
    openai(
        "usage has its own names",
        _usage(lambda event: {**event, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}),
        check=charged(),
    ),
    openai(
        "usage details are null",
        _usage(
            lambda event: {
                **event,
                "usage": {
                    **event["usage"],
                    "prompt_tokens_details": None,
                    "completion_tokens_details": None,
                },
            }
        ),
        check=charged(),
    ),
    openai(
        "usage has numbers as floats",
        _usage(
            lambda event: {
                **event,
                "usage": {"prompt_tokens": 10.0, "completion_tokens": 5.0, "total_tokens": 15.0},
            }
        ),
    ),
    openai(
        "usage has nulls",
        _usage(
            lambda event: {
                **event,
                "usage": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
            }
        ),
    ),
    openai("usage is an empty object", _usage(lambda event: {**event, "usage": {}})),
    openai("usage is a text", _usage(lambda event: {**event, "usage": "unknown"})),
    openai(
        "usage comes after [DONE]",
        sends(lambda sent: replace(sent, items=[*sent.items[:-2], "[DONE]", sent.items[-2]])),
    ),
    openai(
        "usage comes twice",
        sends(lambda sent: replace(sent, items=[*sent.items[:-1], *sent.items[-2:]])),
        check=charged(),
    ),
    *on_all("usage is not reported", says(_without_tokens), _NO_USAGE, check=_unknown),
    openai(
        "usage is not reported by a priced model",
        says(_without_tokens),
        name=_PRICED,
        check=_unknown,
    ),
    *[
        row(
            "a reply that was cut within is charged",
            plays(SECOND_CALL_ONCE, Cut(Reply(ANSWER * 20, tokens=Tokens(10, 5)))),
            name=name,
            check=check,
        )
        for row, name, check in (
            (openai, _PRICED, _charged_without_usage),
            (anthropic, "anthropic:claude-haiku-4-5", charged(more=1)),  # usage comes first
            (gemini, "google_genai:gemini-2.5-flash", _charged_without_usage),
            (ollama, "ollama:qwen3:8b", _charged_without_usage),
        )
    ],
    openai(
        "a reply with usage that cannot be read is charged",
        answers(
            SECOND_CALL_ONCE,
            200,
            '{"id": "x", "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, '
            '"total_tokens": 15}}',
        ),
        name=_PRICED,
        check=charged(more=15),
    ),
    *on_all(
        "an empty reply is charged, too",
        says(lambda _reply: Reply(""), SECOND_CALL_ONCE),
        check=charged(more=15),
    ),
    gemini(
        "a broken call is charged, too",
        says(
            lambda reply: replace(
                reply, tool_calls=tuple(replace(c, args="{") for c in reply.tool_calls)
            ),
            both(lambda received: received.role == "executor" and not received.has_result, first()),
        ),
        check=charged(more=15),
    ),
    anthropic(
        "the input is counted at the end alone",
        each_event(
            lambda event: (
                {**event, "usage": {"input_tokens": 10, "output_tokens": 5}}
                if event["type"] == "message_delta"
                else event
            )
        ),
        check=charged(),
    ),
    anthropic(
        "the usage has nulls",
        each_event(
            lambda event: (
                {**event, "usage": {**event["usage"], "cache_creation_input_tokens": None}}
                if event["type"] == "message_delta"
                else event
            )
        ),
        check=charged(),
    ),
    gemini(
        "the usage is in each event",
        each_event(lambda event: {"usageMetadata": {"promptTokenCount": 10}, **event}),
        check=charged(),
    ),
    ollama(
        "the prompt is cached: its count is missing",
        each_event(lambda line: {k: v for k, v in line.items() if k != "prompt_eval_count"}),
    ),
]
