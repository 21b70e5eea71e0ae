"""The pulse of a loop: silence counts by what the asker has waited, and one answer ends it."""

from __future__ import annotations

from collections.abc import Callable

from worker.background.heartbeat import LoopWatchdog


def test_a_loop_that_answers_beats() -> None:
    pulse = LoopWatchdog(lambda answer: answer(), most_seconds=1)
    assert all(pulse.beats(waited) for waited in (0, 0.9, 5, 100))


def test_one_that_is_silent_for_too_long_does_not() -> None:
    asked: list[Callable[[], None]] = []
    pulse = LoopWatchdog(asked.append, most_seconds=1)
    assert [pulse.beats(0.5) for _ in range(4)] == [True, True, True, False]
    assert len(asked) == 1, "it is asked once, and not again before it has answered"


def test_an_answer_ends_the_silence() -> None:
    asked: list[Callable[[], None]] = []
    pulse = LoopWatchdog(asked.append, most_seconds=1)
    assert pulse.beats(0)
    assert pulse.beats(1)
    asked[-1]()
    assert [pulse.beats(0.8) for _ in range(3)] == [True, True, False]
