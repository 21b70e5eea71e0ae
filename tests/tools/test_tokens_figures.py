"""Counting what a long job has sent."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from agents.context.trimming import trimmed
from agents.ports import Bounds
from benchmarks.provider import Request
from benchmarks.provider.openai import messages
from benchmarks.tokens import script
from benchmarks.tokens.__main__ import GOALS, figures, missed
from benchmarks.tokens.counted import Sent


def request(*texts: str) -> Request:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": text} for text in texts]}
    return Request("openai", "m", messages(body), (), None, False, "/", {}, body, 0.0)


def size(*texts: str) -> int:
    return len("[]") + sum(len(json.dumps({"role": "user", "content": text})) for text in texts)


def test_tokens_are_bytes_and_a_cache_knows_what_was_sent_before() -> None:
    one, two, three = ("a" * 40,), ("a" * 40, "b" * 80), ("a" * 40, "-", "c")
    found = Sent.of([request(*one), request(*two), request(*three)])
    assert found.tokens == -(-(size(*one) + size(*two) + size(*three)) // 4)
    assert found.cached == -(-(size(*one) + size("a" * 40)) // 4)


def test_ratios_are_of_the_sums() -> None:
    keys = figures({10: (Sent(250, 100), Sent(1_000, 900))})
    assert keys["ratio_10"] == 0.25
    assert (keys["cached_10"], keys["cached_untrimmed_10"]) == (0.4, 0.9)
    assert keys["price_ratio_10"] == round(160 / 190, 3)


def test_a_goal_is_missed_only_where_it_was_measured() -> None:
    assert missed({"ratio_10": 0.9}) == missed({"ratio_100": 0.25}) == []
    assert missed({"ratio_100": 0.26}) == ["ratio_100"]


@pytest.mark.parametrize(("history", "met"), [(Bounds().history, True), (None, False)])
def test_the_goal_is_met_by_what_a_request_shows_of_a_long_job(
    history: int | None, met: bool
) -> None:
    """The same job, as far as it is a conversation: without the instructions and the tools."""
    job = conversation(calls=100)
    bounds = replace(Bounds(), history=history)
    requests = [trimmed(job[:end], bounds) for end in range(1, len(job) + 1, 2)]
    whole = [job[:end] for end in range(1, len(job) + 1, 2)]
    ratio = sum(map(characters, requests)) / sum(map(characters, whole))
    assert GOALS["ratio_100"].met(ratio) is met


def conversation(calls: int) -> list[AnyMessage]:
    said: list[AnyMessage] = [HumanMessage("Work through the measurements.")]
    for number in range(1, calls + 1):
        call = {"name": "python", "args": {"code": script.program(number)}, "id": str(number)}
        said.append(AIMessage("", tool_calls=[call]))
        said.append(ToolMessage("x" * Bounds().output, tool_call_id=str(number)))
    return said


def characters(said: list[AnyMessage]) -> int:
    calls = (call for message in said for call in getattr(message, "tool_calls", ()))
    texts = (message.content for message in said)
    return sum(map(len, texts)) + sum(len(call["args"]["code"]) for call in calls)
