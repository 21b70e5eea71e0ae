"""Which models are passed over for a while."""

from __future__ import annotations

from dataclasses import dataclass

from agents.models import ModelUnavailable, ReplyMalformed
from agents.models.circuit_breaker import Absences


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_model_that_was_away_is_passed_over_for_a_while() -> None:
    clock = Clock()
    absences = Absences(clock)
    assert absences.of("groq:a") is None
    absences.note("groq:a", ModelUnavailable("503 over capacity"))
    assert absences.of("groq:a") == "it was unavailable a moment ago: 503 over capacity"
    assert absences.of("groq:b") is None
    clock.now += 15
    assert absences.of("groq:a") is None


def test_the_provider_may_ask_for_more_but_not_for_ever() -> None:
    clock = Clock()
    absences = Absences(clock)
    absences.note("groq:a", ModelUnavailable("busy", retry_after_seconds=60))
    absences.note("groq:b", ModelUnavailable("busy", retry_after_seconds=86_400))
    clock.now += 59
    assert absences.of("groq:a") is not None
    clock.now += 242
    assert absences.of("groq:a") is absences.of("groq:b") is None


def test_a_model_that_wrote_nonsense_is_there() -> None:
    absences = Absences()
    absences.note("groq:a", ReplyMalformed("bad call", said="<python>"))
    assert absences.of("groq:a") is None
