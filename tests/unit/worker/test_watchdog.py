"""When a worker's process is ended: its loop is silent, or memory or threads are gone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.errors import ModelUnavailable
from worker.background.heartbeat import LoopWatchdog
from worker.failures import is_exhausted


def test_a_loop_that_answers_beats() -> None:
    pulse = LoopWatchdog(lambda answer: answer(), most_seconds=1)
    assert all(pulse.beats(waited) for waited in (0, 0.9, 5, 100))


def test_one_that_is_silent_for_too_long_does_not() -> None:
    callbacks: list[Callable[[], None]] = []
    pulse = LoopWatchdog(callbacks.append, most_seconds=1)
    assert [pulse.beats(0.5) for _ in range(4)] == [True, True, True, False]
    assert len(callbacks) == 1, "it is asked once, and not again before it has answered"


def test_an_answer_ends_the_silence() -> None:
    callbacks: list[Callable[[], None]] = []
    pulse = LoopWatchdog(callbacks.append, most_seconds=1)
    assert pulse.beats(0)
    assert pulse.beats(1)
    callbacks[-1]()
    assert [pulse.beats(0.8) for _ in range(3)] == [True, True, False]


def buried(error: Exception) -> Exception:
    """An error as it reaches an attempt: raised from one that came while another was handled."""
    middle, outer = OSError("reading"), ModelUnavailable("connection lost")
    middle.__context__ = error
    outer.__cause__ = middle
    return outer


@pytest.mark.parametrize("wrap", [lambda error: error, buried, lambda e: ExceptionGroup("", [e])])
def test_want_of_memory_or_threads_is_found_wherever_it_is(wrap) -> None:
    assert is_exhausted(wrap(MemoryError()))
    assert is_exhausted(wrap(RuntimeError("can't start new thread")))
    assert not is_exhausted(wrap(RuntimeError("can't start a new job")))
    assert not is_exhausted(wrap(KeyError("x")))
