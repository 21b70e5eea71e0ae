from __future__ import annotations

import pytest

from agents.errors import ModelSilent, ModelUnavailable, ReplyCut
from agents.models.transport.time_limits import RequestClock, RequestSize, RetryPolicy, Timeouts

START = 1_000.0


def clock(input_tokens: int = 0, output_tokens: int = 8_192, patience: int = 1) -> RequestClock:
    return RequestClock(Timeouts(), RequestSize(input_tokens, output_tokens, patience), START)


def test_a_long_prompt_takes_longer_to_read() -> None:
    """10 s are for the connection."""
    assert clock().deadline == clock(4_000).deadline == START + 10 + 60
    assert clock(10_000).deadline == START + 10 + 150
    assert clock(10_000, patience=2).deadline == START + 10 + 300
    assert RequestClock(Timeouts(), RequestSize(10_000, within=20.0), START).deadline == START + 20


@pytest.mark.parametrize("speed", [17, 43])
def test_a_slow_model_may_write_all_its_tokens(speed: int) -> None:
    it = clock()
    for token in range(8_192):
        now = START + 30 + token / speed
        assert now < it.deadline
        it.receive(now, 1, is_complete=False, closed=False)
    assert it.tokens == 8_192


def test_a_tool_call_may_be_held_back() -> None:
    it = clock()
    it.receive(START + 5, 0, is_complete=False, closed=False)
    assert it.deadline == START + 5 + 300
    error = it.error()
    assert isinstance(error, ModelSilent)
    assert error.tokens == 0


def test_signs_of_life_extend_the_wait_up_to_a_limit() -> None:
    it = clock()
    it.receive(START + 5, 1, is_complete=False, closed=False)
    seconds = 5
    while START + seconds < it.deadline:
        it.receive(START + seconds, 0, is_complete=False, closed=False)
        seconds += 20
    assert it.deadline == START + 5 + 900
    assert "only signs of life" in str(it.error())


def test_the_whole_reply_is_bounded_whatever_comes() -> None:
    it = clock(output_tokens=1_000)
    seconds = 0
    while START + seconds < it.deadline:
        it.receive(START + seconds, 1, is_complete=False, closed=False)
        seconds += 20
    assert it.deadline == START + 60 + 200
    assert isinstance(it.error(), ReplyCut)


def test_after_the_end_usage_is_waited_for_and_then_the_close() -> None:
    it = clock()
    it.receive(START + 5, 1, is_complete=True, closed=False)
    it.receive(START + 7, 0, is_complete=True, closed=False)
    assert it.deadline == START + 5 + 10
    it.receive(START + 8, 1, is_complete=True, closed=False)  # a finish reason in each chunk
    assert it.deadline == START + 8 + 10
    it.receive(START + 9, 0, is_complete=True, closed=True)
    it.receive(START + 9.5, 0, is_complete=True, closed=True)
    assert it.deadline == START + 9 + 1


def test_a_silent_model_is_asked_only_once_more() -> None:
    policy = RetryPolicy(retries=4, total_seconds=120)
    silent = ModelSilent("no token within 60 s")
    assert policy.wait(silent, tries=1, spent=60, jitter=0) is not None
    assert policy.wait(silent, tries=2, spent=60, jitter=0) is None
    assert policy.wait(silent, tries=1, spent=120, jitter=0) is None
    assert policy.wait(ModelUnavailable("503"), tries=2, spent=60, jitter=0) is not None
    assert RetryPolicy(retries=0).wait(silent, tries=1, spent=1, jitter=0) is None
