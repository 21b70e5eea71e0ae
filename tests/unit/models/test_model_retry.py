from __future__ import annotations

import pytest

from agents.errors import ModelUnavailable
from agents.models.transport.time_limits import RetryPolicy

PATIENCE = RetryPolicy(retries=4, total_seconds=120, longest_requested_seconds=300)
DOWN = ModelUnavailable("down")


def wait(
    error: ModelUnavailable, tries: int, spent: float = 0.0, jitter: float = 1.0
) -> float | None:
    return PATIENCE.wait(error, tries=tries, spent=spent, jitter=jitter)


def test_waits_double_up_to_eight_seconds() -> None:
    patience = RetryPolicy(retries=8, total_seconds=1_000)
    waits = [patience.wait(DOWN, tries=n, spent=0, jitter=1) for n in range(1, 9)]
    assert waits == [0.5, 1, 2, 4, 8, 8, 8, 8]


@pytest.mark.parametrize("jitter", [0.0, 0.7, 1.0])
def test_a_retry_is_never_earlier_than_the_provider_asks(jitter: float) -> None:
    pause = wait(ModelUnavailable("busy", retry_after_seconds=20), 1, jitter=jitter)
    assert pause is not None
    assert 20 <= pause <= 22


def test_no_wait_is_started_that_exceeds_the_total_time() -> None:
    assert wait(ModelUnavailable("busy", retry_after_seconds=121), 1) is None
    assert wait(DOWN, 1, spent=119.4) is not None
    assert wait(DOWN, 1, spent=119.6) is None


def test_a_long_wait_that_the_provider_asks_for_ends_the_retries() -> None:
    usual = RetryPolicy()
    assert usual.wait(ModelUnavailable("busy", retry_after_seconds=10), tries=1, spent=0, jitter=1)
    long = ModelUnavailable("busy", retry_after_seconds=10.1)
    assert usual.wait(long, tries=1, spent=0, jitter=1) is None
