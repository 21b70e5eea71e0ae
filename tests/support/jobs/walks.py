"""Hypothesis' state machines over jobs in a real Redis."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from typing import Any

import redis
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine
from support.jobs.job_examples import JobService

from jobs.store.redis_store import RedisStore, connect


class StoreMachine(RuleBasedStateMachine):
    """A state machine that begins each walk with an empty Redis at `url`."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        with redis.Redis.from_url(self.url) as client:
            client.flushall()
        self.runner = asyncio.Runner()
        self.store = RedisStore(connect(self.url, seconds=20))
        self.service = JobService(self.store)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()

    def run(self, operation: Awaitable[Any]) -> Any:
        return self.runner.run(operation)  # type: ignore[arg-type]


def walks(examples: int, steps: int) -> settings:
    """Settings for this number of walks and steps; the environment variable WALKS multiplies the
    walks.
    """
    return settings(
        max_examples=examples * int(os.environ.get("WALKS", "1")),
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        database=None,
    )
