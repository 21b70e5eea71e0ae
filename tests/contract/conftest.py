"""The stores that keep the same promises: in memory, and on every Redis that can be had."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis_servers
from job_examples import House

from jobs.memory_store import MemoryStore
from jobs.redis_store import RedisStore, connect
from jobs.store import Store


@pytest.fixture(params=["memory", *sorted(redis_servers.binaries())])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    """A store of each kind, empty."""
    kept: Store
    if request.param == "memory":
        kept = MemoryStore()
    else:
        server = request.getfixturevalue("redis_named")(request.param)
        kept = RedisStore(connect(server.url, seconds=20))
    yield kept
    await kept.close()


@pytest.fixture
def house(store: Store) -> House:
    """Operations over it."""
    return House(store)
