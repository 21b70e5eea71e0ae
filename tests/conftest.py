"""Fixtures that several suites share: real servers, one server of each kind per session."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack

import pytest
import redis
from hypothesis import HealthCheck, settings
from support.servers import docker_engine as engines
from support.servers import redis_servers

from jobs.store.redis_store import RedisStore, connect

# The speed of a test depends on the machine, so Hypothesis must not fail a slow test.
settings.register_profile("fettle", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("fettle")

DAY_SECONDS = 86_400
LONGEST_TEST_SECONDS = 60
"""The longest time of a test that counts usage per day."""


@pytest.fixture
def one_day() -> None:
    """Keep the test within one day (UTC): shortly before midnight, wait for the next day."""
    seconds_left = DAY_SECONDS - time.time() % DAY_SECONDS
    if seconds_left < LONGEST_TEST_SECONDS:
        time.sleep(seconds_left + 0.1)


@pytest.fixture(scope="session")
def redis_named(tmp_path_factory) -> Iterator[Callable[[str], redis_servers.RedisServer]]:
    """Start a Redis server from its binary's name, at the first call in the session; empty it."""
    running: dict[str, redis_servers.RedisServer] = {}
    with ExitStack() as stack:

        def start_or_empty(name: str) -> redis_servers.RedisServer:
            if name not in running:
                directory = tmp_path_factory.mktemp(name)
                binary = redis_servers.binaries()[name]
                running[name] = stack.enter_context(redis_servers.start(binary, directory))
            with redis.Redis.from_url(running[name].url) as client:
                client.flushall()
            return running[name]

        yield start_or_empty


@pytest.fixture
def redis_url(redis_named) -> str:
    """The address of an empty Redis, started from the first of `redis_servers.binaries()`."""
    return redis_named(next(iter(redis_servers.binaries()))).url


@pytest.fixture
async def redis_store(redis_url) -> AsyncIterator[RedisStore]:
    """An empty store on the server of `redis_url`."""
    store = RedisStore(connect(redis_url, seconds=20))
    yield store
    await store.close()


collect_ignore_glob = [] if engines.OWN else ["integration/sandbox/test_docker_*.py"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sharpest",
        action="store_true",
        help="leave out the matrices: run every Nth case of a test marked matrix(every=N), and no "
        "case of a test marked matrix",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--sharpest`, deselect the cases of matrices. The cases of one test function count from
    its first case, so that each machine and each worker process selects the same cases."""
    if not config.getoption("sharpest"):
        return
    counts: Counter[str] = Counter()
    selected, deselected = [], []
    for item in items:
        marker = item.get_closest_marker("matrix")
        function = item.nodeid.partition("[")[0]
        every = marker.kwargs.get("every", 0) if marker else 1
        is_selected = every > 0 and counts[function] % every == 0
        counts[function] += 1
        (selected if is_selected else deselected).append(item)
    items[:] = selected
    config.hook.pytest_deselected(items=deselected)


def pytest_report_header() -> str:
    """The backends of the sandbox that this session tests."""
    return engines.header()


@pytest.fixture(scope="session")
def docker_engine(tmp_path_factory) -> Iterator[engines.Engine]:
    """The session's Docker engine, with the image for sandboxes."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with engines.shared(folder) as engine:
        yield engine
