"""The base of a benchmark's temporary deployment: a folder, Redis, and processes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from cli.errors import CliError
from cli.local import ports, redis_server
from cli.local.deployment import environment
from cli.local.processes import Child, Processes, Program, running
from cli.local.redis_server import RedisServer
from cli.signals import Signals
from settings.client import sealed

READY_SECONDS = 60.0
LOG_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class Api:
    """An API process that answers."""

    url: str
    pid: int


@dataclass(frozen=True, slots=True)
class BaseServices:
    """The started base. `env` is the environment of API and workers, before additions; `port` is
    free for an API."""

    folder: Path
    redis: RedisServer
    port: int
    env: Mapping[str, str] = field(repr=False)
    processes: Processes = field(repr=False)

    @property
    def data(self) -> Path:
        """The deployment's data directory."""
        return self.folder / "data"

    def start(self, program: Program) -> Child:
        """Start a program with its own log."""
        return _start(self.processes, program, self.folder)

    def said(self, program: Program) -> str:
        """A program's output."""
        return _log(program, self.folder).read_text(errors="replace")

    def answering(self, api: Program) -> Api:
        """Start an API at this port, and wait until it answers. Raises CliError."""
        child = self.start(api)
        url = f"http://{ports.LOOPBACK}:{self.port}"
        for _ in self.patience(child, title="the API cannot work here"):
            if _answers(url):
                break
            time.sleep(0.05)
        return Api(url, child.pid)

    def patience(self, *children: Child, title: str) -> Iterator[None]:
        """An iterator for a loop that waits until the children are ready.

        Raises CliError, with the end of a log, when a child has ended or time is up.
        """
        deadline = time.monotonic() + READY_SECONDS
        while True:
            yield
            for child in children:
                if child.ended() is not None or time.monotonic() > deadline:
                    log = self.said(child.program)[-LOG_CHARS:]
                    raise CliError(title, log, "fettle doctor")


@contextmanager
def base_services(name: str) -> Iterator[BaseServices]:
    """Redis that syncs each write, and nothing else. Raises CliError where it cannot run."""
    with Signals() as signals, ExitStack() as stack:
        with signals.held():  # a signal in between would leave the directory
            folder = stack.enter_context(
                TemporaryDirectory(prefix=f"fettle-{name}-", ignore_cleanup_errors=True)
            )
        yield _started(stack.enter_context(running(signals)), Path(folder))


def _started(processes: Processes, folder: Path) -> BaseServices:
    redis_port, port = ports.free(2)
    server = redis_server.prepare(folder / "redis", redis_port, sealed({}))
    redis_server.wait_ready(server, _start(processes, server.program, folder))
    env = environment(
        redis_url=server.url,
        broker_url=server.broker_url,
        data_dir=str(folder / "data"),
        host=ports.LOOPBACK,
        port=port,
    )
    env |= {"FETTLE_CONFIG": str(folder / "fettle.toml"), "FETTLE_LOG_LEVEL": "WARNING"}
    return BaseServices(folder, server, port, env, processes)


def _start(processes: Processes, program: Program, folder: Path) -> Child:
    with _log(program, folder).open("wb") as log:
        return processes.start(program, log)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False).is_success
    except httpx.TransportError:
        return False


def _log(program: Program, folder: Path) -> Path:
    return folder / f"{program.name}.log"
