"""A temporary deployment without an API: jobs are submitted directly to its Redis.

The API's cost is another benchmark (`benchmarks.overhead`); here it would only use processor time.
Everything else is as `fettle up` starts it: a Redis that syncs each write, Celery workers with
default settings, sandboxes.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.scale import model
from benchmarks.services import BaseServices, base_services
from cli.local import bubblewrap
from cli.local.deployment import Deployment
from cli.local.processes import Child, Processes, Program
from jobs.queue.hints import Hints
from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from settings.client import sealed

STORE_SECONDS = 20.0
"""The time-out of the benchmark's own Redis calls, since it keeps Redis busy."""


@dataclass(frozen=True, slots=True)
class Target:
    """The started deployment. `env` is the environment of its processes."""

    redis_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    workers: tuple[int, ...]
    data: Path
    processes: Processes = field(repr=False)

    @contextmanager
    def operations(self) -> Iterator[Operations]:
        """Operations like those of the API; close their store in the loop that used it."""
        hints = Hints(self.broker_url)
        try:
            store = RedisStore(connect(self.redis_url, seconds=STORE_SECONDS))
            yield Operations(store, hints.hint)
        finally:
            hints.close()


@contextmanager
def started(workers: int, own: Mapping[str, str]) -> Iterator[Target]:
    """Redis, the model's server and so many workers; `own` overrides default settings.

    Raises CliError where they cannot start.
    """
    with base_services("scale") as below:
        bubblewrap.ensure()
        yield _start(below, workers, own)


def _start(below: BaseServices, workers: int, own: Mapping[str, str]) -> Target:
    env = {**below.env, "GROQ_API_KEY": "bench", "FETTLE_GROQ_BASE_URL": model_server(below), **own}
    env = sealed(env)
    children = [below.start(each) for each in Deployment(below.port, env).workers(workers)]
    pids = tuple(child.pid for child in children)
    server = below.redis
    target = Target(server.url, server.broker_url, env, pids, below.data, below.processes)
    asyncio.run(_all_there(below, children))
    return target


def model_server(below: BaseServices) -> str:
    """Start the model's server; returns its base URL for Groq's client."""
    argv = (*Deployment(0, {}).api().argv[:3], "benchmarks.provider")
    argv += ("--script", f"{model.__name__}:{model.answer.__name__}")
    child = below.start(Program("model", argv, sealed({})))
    for _ in below.patience(child, title="the model's server did not start"):
        if below.said(child.program).endswith("\n"):
            break
        time.sleep(0.02)
    url: str = json.loads(below.said(child.program))["groq"]
    return url


async def _all_there(below: BaseServices, children: list[Child]) -> None:
    """Wait until each worker has announced itself."""
    store = RedisStore(connect(below.redis.url))
    try:
        for _ in below.patience(*children, title="a worker cannot work here"):
            if len(await store.workers()) >= len(children):
                return
            await asyncio.sleep(0.05)
    finally:
        await store.close()
