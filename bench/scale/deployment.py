"""A throw-away deployment without a front: jobs are admitted straight into its Redis.

What the API costs is another benchmark (`bench.overhead`); here it would only take its share of the
two processors while the jobs come in. Everything else is as `fettle up` starts it: Redis that syncs
each write, Celery workers with their default settings, rooms.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.scale import model
from cli import bubblewrap, ports, redis_server
from cli.deployment import Deployment, environment
from cli.errors import CliError
from cli.processes import Child, Processes, Program, running
from cli.signals import Signals
from jobs.hints import Hints
from jobs.operations import Operations
from jobs.redis_store import RedisStore, connect
from settings.children import sealed

READY_SECONDS = 60.0
STORE_SECONDS = 20.0
"""The benchmark's own patience with a Redis that it keeps busy."""


@dataclass(frozen=True, slots=True)
class House:
    """What was started. `env` is what a further process of it is to be given."""

    redis_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    env: Mapping[str, str] = field(repr=False)
    workers: tuple[int, ...]
    data: Path
    processes: Processes = field(repr=False)

    @contextmanager
    def operations(self) -> Iterator[Operations]:
        """Operations as the API has them; close their store in the loop that has used it."""
        hints = Hints(self.broker_url)
        try:
            store = RedisStore(connect(self.redis_url, seconds=STORE_SECONDS))
            yield Operations(store, hints.send)
        finally:
            hints.close()


@contextmanager
def started(workers: int, own: Mapping[str, str]) -> Iterator[House]:
    """Redis, the model's server and so many workers; `own` are settings over the defaults.

    Raises CliError where they cannot work.
    """
    with Signals() as signals, ExitStack() as stack:
        with signals.held():
            folder = stack.enter_context(
                TemporaryDirectory(prefix="fettle-scale-", ignore_cleanup_errors=True)
            )
        processes = stack.enter_context(running(signals))
        bubblewrap.ensure()
        yield _start(processes, Path(folder), workers, own)


def _start(processes: Processes, folder: Path, workers: int, own: Mapping[str, str]) -> House:
    port, unused = ports.free(2)
    server = redis_server.prepare(folder / "redis", port, sealed({}))
    redis_server.wait_ready(server, _child(processes, server.program, folder))
    env = environment(
        redis_url=server.url,
        broker_url=server.broker_url,
        data_dir=str(folder / "data"),
        host=ports.LOOPBACK,
        port=unused,
    )
    env |= {"FETTLE_CONFIG": str(folder / "fettle.toml"), "FETTLE_LOG_LEVEL": "WARNING"}
    env |= {"GROQ_API_KEY": "bench", "FETTLE_GROQ_BASE_URL": _model(processes, folder)}
    env = sealed({**env, **own})
    programs = Deployment(unused, env).workers(workers)
    children = [_child(processes, program, folder) for program in programs]
    pids = tuple(child.pid for child in children)
    house = House(server.url, server.broker_url, env, pids, folder / "data", processes)
    asyncio.run(_all_there(house, children, folder))
    return house


def _model(processes: Processes, folder: Path) -> str:
    """Start the model's server; returns its address as Groq's client takes it."""
    argv = (*Deployment(0, {}).api().argv[:3], "bench.provider")
    argv += ("--script", f"{model.__name__}:{model.answer.__name__}")
    child = _child(processes, Program("model", argv, sealed({})), folder)
    said = folder / "model.log"
    deadline = time.monotonic() + READY_SECONDS
    while not said.read_text().endswith("\n"):
        if child.ended() is not None or time.monotonic() > deadline:
            raise CliError("the model's server did not start", said.read_text()[-2_000:])
        time.sleep(0.02)
    url: str = json.loads(said.read_text())["groq"]
    return url


async def _all_there(house: House, children: list[Child], folder: Path) -> None:
    """Return when each worker has said that it works."""
    store = RedisStore(connect(house.redis_url))
    deadline = time.monotonic() + READY_SECONDS
    try:
        while len(await store.workers()) < len(children):
            for child in children:
                if child.ended() is not None or time.monotonic() > deadline:
                    log = _log(child.program, folder).read_text(errors="replace")[-2_000:]
                    raise CliError("a worker cannot work here", log, "fettle doctor")
            await asyncio.sleep(0.05)
    finally:
        await store.close()


def _child(processes: Processes, program: Program, folder: Path) -> Child:
    with _log(program, folder).open("wb") as log:
        return processes.start(program, log)


def _log(program: Program, folder: Path) -> Path:
    return folder / f"{program.name}.log"
