"""The store on every Redis server of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.jobs.job_examples import JobService
from support.servers import redis_servers

from jobs.store.redis_store import RedisStore, connect


@pytest.fixture(params=sorted(redis_servers.binaries()))
async def store(request: pytest.FixtureRequest) -> AsyncIterator[RedisStore]:
    """An empty store on each Redis server of this machine."""
    server = request.getfixturevalue("redis_named")(request.param)
    redis_store = RedisStore(connect(server.url, seconds=20))
    yield redis_store
    await redis_store.close()


@pytest.fixture
def service(store: RedisStore) -> JobService:
    """Operations over this store."""
    return JobService(store)
