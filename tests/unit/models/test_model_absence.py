"""Which models are passed over for a while."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models import ModelUnavailable, ReplyMalformed
from agents.models.circuit_breaker import CircuitBreaker


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_model_that_was_away_is_passed_over_for_a_while() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    assert breaker.skip_reason("groq:a") is None
    breaker.note("groq:a", ModelUnavailable("503 over capacity"))
    assert breaker.skip_reason("groq:a") == "it was unavailable a moment ago: 503 over capacity"
    assert breaker.skip_reason("groq:b") is None
    clock.now += 15
    assert breaker.skip_reason("groq:a") is None


def test_the_provider_may_ask_for_more_but_not_for_ever() -> None:
    clock = Clock()
    breaker = CircuitBreaker(clock)
    breaker.note("groq:a", ModelUnavailable("busy", retry_after_seconds=60))
    breaker.note("groq:b", ModelUnavailable("busy", retry_after_seconds=86_400))
    clock.now += 59
    assert breaker.skip_reason("groq:a") is not None
    clock.now += 242
    assert breaker.skip_reason("groq:a") is breaker.skip_reason("groq:b") is None


def test_a_model_that_wrote_nonsense_is_there() -> None:
    breaker = CircuitBreaker()
    breaker.note("groq:a", ReplyMalformed("bad call", said="<python>"))
    assert breaker.skip_reason("groq:a") is None
