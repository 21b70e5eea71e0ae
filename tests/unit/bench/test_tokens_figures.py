"""Counting what a long job has sent."""

from __future__ import annotations

import json
from typing import Any

from bench.provider import Request
from bench.provider.openai import messages
from bench.tokens.__main__ import figures
from bench.tokens.counted import Sent


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
