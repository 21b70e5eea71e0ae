"""The rate at which all workers together call a provider."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

import pytest

from agents.errors import ModelUnavailable
from agents.ports.spending import ModelRateLimit
from agents.spending.rate_limit import Pace
from jobs.store.redis_store import connect
from worker.adapters.rate_limit import RedisRateLimit
from worker.store import Patience

SMALL, LARGE, OTHER = "groq:small", "groq:large", "openai:other"
Workers = Callable[..., list[ModelRateLimit]]
"""Makes this number of limits that count together, with a pace for groq."""


@pytest.fixture
async def workers(redis_url: str) -> AsyncIterator[Workers]:
    clients = []

    def make_limits(
        pace: Pace | None, most_seconds: float = 5.0, count: int = 2
    ) -> list[ModelRateLimit]:
        paces = {} if pace is None else {"groq": pace}
        clients.extend(connect(redis_url, seconds=20) for _ in range(count))
        return [
            RedisRateLimit(client, paces, Patience(30), most_seconds) for client in clients[-count:]
        ]

    yield make_limits
    for client in clients:
        await client.aclose()


async def sent(limits: list[ModelRateLimit], count: int, tokens: int = 1) -> list[float]:
    """The times at which this number of requests were allowed, in seconds from now."""
    started = time.monotonic()

    async def send_request(number: int) -> float:
        await limits[number % len(limits)].wait(SMALL, tokens)
        return time.monotonic() - started

    return sorted(await asyncio.gather(*map(send_request, range(count))))


def keeps_to(times: list[float], together: int, seconds: float) -> bool:
    """Whether no request came before its turn at this rate. Requests may be late."""
    turns = [index // together * seconds for index in range(len(times))]
    return all(at > turn - 0.05 for at, turn in zip(times, turns, strict=True))


async def test_a_request_within_the_limit_does_not_wait(workers: Workers) -> None:
    limits = workers(Pace(10, None, 60_000))
    # If a request had to wait, it would be refused: a period is longer than the longest wait.
    await sent(limits, 10)
    with pytest.raises(ModelUnavailable):
        await limits[0].wait(SMALL, 1)


async def test_workers_count_together_and_no_window_exceeds_the_limit(workers: Workers) -> None:
    assert keeps_to(await sent(workers(Pace(5, None, 400)), 15), 5, 0.4)


async def test_tokens_are_counted_too(workers: Workers) -> None:
    limits = workers(Pace(100, 50, 60_000))
    await sent(limits, 2, tokens=25)
    with pytest.raises(ModelUnavailable):
        await limits[0].wait(SMALL, 1)
    assert keeps_to(await sent(workers(Pace(100, 50, 400)), 6, tokens=25), 2, 0.4)


async def test_a_request_beyond_the_limit_of_tokens_goes_alone(workers: Workers) -> None:
    limits = workers(Pace(100, 50, 60_000))
    await limits[0].wait(SMALL, 80)
    with pytest.raises(ModelUnavailable):
        await limits[1].wait(SMALL, 1)
    assert keeps_to(await sent(workers(Pace(100, 50, 300)), 2, tokens=80), 1, 0.3)


async def test_a_request_that_would_wait_too_long_is_refused_at_once_and_takes_no_turn(
    workers: Workers,
) -> None:
    first, second = workers(Pace(1, None, 60_000))
    await first.wait(SMALL, 1)
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(ModelUnavailable) as caught:
            await second.wait(SMALL, 1)
        # its turn is still the next: refused requests have taken no turn before it
        assert 30 < (caught.value.retry_after_seconds or 0) <= 60
    assert time.monotonic() - started < 30


async def test_a_hold_set_by_one_worker_applies_to_all(workers: Workers) -> None:
    first, second = workers(Pace(100))
    started = time.monotonic()
    await first.hold(SMALL, 0.4)
    await first.hold(SMALL, 0.1)  # a shorter hold has no effect
    await asyncio.gather(first.wait(SMALL, 1), second.wait(SMALL, 1))
    assert time.monotonic() - started > 0.35


async def test_other_models_and_providers_are_not_held(workers: Workers) -> None:
    first, second = workers(Pace(100))
    await first.hold(SMALL, 30)
    # If the request had to wait, it would be refused: the hold is longer than the longest wait.
    await second.wait(LARGE, 1)
    await second.wait(OTHER, 1)
    with pytest.raises(ModelUnavailable):
        await second.wait(SMALL, 1)
