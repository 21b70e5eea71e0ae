"""A temporary deployment without an API: jobs are submitted directly to its Redis.

Another benchmark measures the API (`lab.benchmarks.overhead`); here it would only use processor
time. Everything else is as `fettle up` starts it: a Redis that syncs each write, Celery workers
with default settings, sandboxes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.local import bubblewrap, ports, redis_server
from cli.local.deployment import Deployment, environment
from cli.local.processes import LocalProgram, LoggedProcesses, running
from cli.signals import Signals
from jobs.queue.hints import Hints
from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from lab.benchmarks.scale import model
from settings.client import isolated_environment

READY_SECONDS = 60.0
STORE_SECONDS = 20.0
"""The time-out of the benchmark's own Redis calls; it is long because the benchmark keeps Redis
busy.
"""


@dataclass(frozen=True, slots=True)
class ScaleDeployment:
    """The started deployment. `env` is the environment of its processes."""

    redis_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    workers: tuple[int, ...]
    data: Path

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
def started(workers: int, variables: Mapping[str, str]) -> Iterator[ScaleDeployment]:
    """Start Redis, the model's server and the workers. `variables` overrides default settings.
    Raises CliError if they cannot start.
    """
    with Signals() as signals, ExitStack() as stack:
        with signals.delayed():  # a signal between the two steps would leave the directory behind
            folder = stack.enter_context(
                TemporaryDirectory(prefix="fettle-scale-", ignore_cleanup_errors=True)
            )
        programs = LoggedProcesses(stack.enter_context(running(signals)), Path(folder))
        bubblewrap.ensure()
        yield _start(programs, workers, variables)


def _start(
    programs: LoggedProcesses, workers: int, variables: Mapping[str, str]
) -> ScaleDeployment:
    redis_port, port = ports.free(2)
    server = redis_server.prepare(programs.folder / "redis", redis_port, isolated_environment({}))
    redis_server.wait_ready(server, programs.start(server.program))
    data = programs.folder / "data"
    env = environment(
        redis_url=server.url,
        broker_url=server.broker_url,
        data_dir=str(data),
        host=ports.LOOPBACK,
        port=port,
    )
    env |= {"FETTLE_LOG_LEVEL": "WARNING"}
    env |= {"GROQ_API_KEY": "bench", "FETTLE_GROQ_BASE_URL": _model_server(programs), **variables}
    env = isolated_environment(env)
    children = [programs.start(program) for program in Deployment(port, env).workers(workers)]
    programs.wait_until(
        lambda: asyncio.run(_announced(server.url)) >= workers,
        "each worker has announced itself",
        *children,
        seconds=READY_SECONDS,
    )
    pids = tuple(child.pid for child in children)
    return ScaleDeployment(server.url, server.broker_url, env, pids, data)


def _model_server(programs: LoggedProcesses) -> str:
    """Start the model's server; returns its base URL for Groq's client."""
    argv = (*Deployment(0, {}).api().argv[:3], "lab.provider")
    argv += ("--script", f"{model.__name__}:{model.answer.__name__}")
    child = programs.start(LocalProgram("model", argv, isolated_environment({})))
    log = programs.folder / "model.log"
    programs.wait_until(
        lambda: log.read_text().endswith("\n"), "it answers", child, seconds=READY_SECONDS
    )
    url: str = json.loads(log.read_text())["groq"]
    return url


async def _announced(redis_url: str) -> int:
    """The number of workers that have announced themselves."""
    store = RedisStore(connect(redis_url))
    try:
        return len(await store.workers())
    finally:
        await store.close()
