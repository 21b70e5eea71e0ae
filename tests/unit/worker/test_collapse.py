"""Which errors end a worker's process, however deep a library has buried them."""

from __future__ import annotations

import pytest

from agents.models.errors import ModelUnavailable
from worker.abort import exhausted


def buried(error: Exception) -> Exception:
    """An error as it reaches an attempt: raised from one that came while another was handled."""
    middle, outer = OSError("reading"), ModelUnavailable("connection lost")
    middle.__context__ = error
    outer.__cause__ = middle
    return outer


@pytest.mark.parametrize("wrap", [lambda error: error, buried, lambda e: ExceptionGroup("", [e])])
def test_want_of_memory_or_threads_is_found_wherever_it_is(wrap) -> None:
    assert exhausted(wrap(MemoryError()))
    assert exhausted(wrap(RuntimeError("can't start new thread")))
    assert not exhausted(wrap(RuntimeError("can't start a new job")))
    assert not exhausted(wrap(KeyError("x")))


def test_a_circle_of_causes_has_an_end() -> None:
    one, two = KeyError("one"), KeyError("two")
    one.__cause__, two.__cause__ = two, one
    assert not exhausted(one)
    assert not exhausted(None)
