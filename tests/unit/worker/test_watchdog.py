"""When the watchdog ends a worker's process: its loop is silent, or memory or threads are
exhausted.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agents.errors import ModelUnavailable
from worker.background.heartbeat import LoopWatchdog
from worker.failures import is_exhausted


def test_a_responsive_loop_renews_its_beat() -> None:
    pulse = LoopWatchdog(lambda answer: answer(), most_seconds=1)
    assert all(pulse.beats(waited) for waited in (0, 0.9, 5, 100))


def test_a_silent_loop_does_not_renew_its_beat() -> None:
    callbacks: list[Callable[[], None]] = []
    pulse = LoopWatchdog(callbacks.append, most_seconds=1)
    assert [pulse.beats(0.5) for _ in range(4)] == [True, True, True, False]
    assert len(callbacks) == 1, "it is asked once, and not again before it has answered"


def test_an_answer_ends_the_count_of_silence() -> None:
    callbacks: list[Callable[[], None]] = []
    pulse = LoopWatchdog(callbacks.append, most_seconds=1)
    assert pulse.beats(0)
    assert pulse.beats(1)
    callbacks[-1]()
    assert [pulse.beats(0.8) for _ in range(3)] == [True, True, False]


def buried(error: Exception) -> Exception:
    """An error as it reaches an attempt: its cause was raised while another error was handled."""
    middle, outer = OSError("reading"), ModelUnavailable("connection lost")
    middle.__context__ = error
    outer.__cause__ = middle
    return outer


@pytest.mark.parametrize("wrap", [lambda error: error, buried, lambda e: ExceptionGroup("", [e])])
def test_exhausted_memory_or_threads_are_detected_anywhere_in_the_chain(wrap) -> None:
    assert is_exhausted(wrap(MemoryError()))
    assert is_exhausted(wrap(RuntimeError("can't start new thread")))
    assert not is_exhausted(wrap(RuntimeError("can't start a new job")))
    assert not is_exhausted(wrap(KeyError("x")))
