from __future__ import annotations

import pytest

from agents.errors import ModelSilent, ModelUnavailable, ReplyCut
from agents.models.transport.time_limits import RequestClock, RequestSize, RetryPolicy, Timeouts

START = 1_000.0


def clock(input_tokens: int = 0, output_tokens: int = 8_192, patience: int = 1) -> RequestClock:
    return RequestClock(Timeouts(), RequestSize(input_tokens, output_tokens, patience), START)


def test_a_long_prompt_takes_longer_to_read() -> None:
    """10 s of the limit are for the connection."""
    assert clock().deadline == clock(4_000).deadline == START + 10 + 60
    assert clock(10_000).deadline == START + 10 + 150
    assert clock(10_000, patience=2).deadline == START + 10 + 300
    assert RequestClock(Timeouts(), RequestSize(10_000, within=20.0), START).deadline == START + 20


@pytest.mark.parametrize("speed", [17, 43])
def test_a_slow_model_may_write_all_its_tokens(speed: int) -> None:
    request_clock = clock()
    for token in range(8_192):
        now = START + 30 + token / speed
        assert now < request_clock.deadline
        request_clock.receive(now, 1, is_complete=False, closed=False)
    assert request_clock.tokens == 8_192


def test_a_tool_call_may_be_held_back() -> None:
    request_clock = clock()
    request_clock.receive(START + 5, 0, is_complete=False, closed=False)
    assert request_clock.deadline == START + 5 + 300
    error = request_clock.error()
    assert isinstance(error, ModelSilent)
    assert error.tokens == 0


def test_keepalive_events_extend_the_wait_up_to_a_limit() -> None:
    request_clock = clock()
    request_clock.receive(START + 5, 1, is_complete=False, closed=False)
    seconds = 5
    while START + seconds < request_clock.deadline:
        request_clock.receive(START + seconds, 0, is_complete=False, closed=False)
        seconds += 20
    assert request_clock.deadline == START + 5 + 900
    assert "only signs of life" in str(request_clock.error())


def test_the_length_of_a_reply_is_bounded() -> None:
    request_clock = clock(output_tokens=1_000)
    seconds = 0
    while START + seconds < request_clock.deadline:
        request_clock.receive(START + seconds, 1, is_complete=False, closed=False)
        seconds += 20
    assert request_clock.deadline == START + 60 + 200
    assert isinstance(request_clock.error(), ReplyCut)


def test_after_the_end_of_the_text_usage_and_close_have_their_limits() -> None:
    request_clock = clock()
    request_clock.receive(START + 5, 1, is_complete=True, closed=False)
    request_clock.receive(START + 7, 0, is_complete=True, closed=False)
    assert request_clock.deadline == START + 5 + 10
    # Each chunk has a finish reason.
    request_clock.receive(START + 8, 1, is_complete=True, closed=False)
    assert request_clock.deadline == START + 8 + 10
    request_clock.receive(START + 9, 0, is_complete=True, closed=True)
    request_clock.receive(START + 9.5, 0, is_complete=True, closed=True)
    assert request_clock.deadline == START + 9 + 1


def test_a_silent_model_is_asked_only_once_more() -> None:
    policy = RetryPolicy(retries=4, total_seconds=120)
    silent = ModelSilent("no token within 60 s")
    assert policy.wait(silent, tries=1, spent=60, jitter=0) is not None
    assert policy.wait(silent, tries=2, spent=60, jitter=0) is None
    assert policy.wait(silent, tries=1, spent=120, jitter=0) is None
    assert policy.wait(ModelUnavailable("503"), tries=2, spent=60, jitter=0) is not None
    assert RetryPolicy(retries=0).wait(silent, tries=1, spent=1, jitter=0) is None
