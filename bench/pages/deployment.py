"""A throw-away service without workers: what is looked at is put on record directly."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from cli import ports, redis_server
from cli.deployment import Deployment, environment
from cli.errors import CliError
from cli.processes import Child, Processes, Program, running
from cli.signals import Signals
from settings.children import sealed

READY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class House:
    """What was started."""

    url: str
    key: str = field(repr=False)
    redis_url: str
    data: Path


@contextmanager
def started() -> Iterator[House]:
    """Redis that syncs each write, and one API process. Raises CliError where they cannot run."""
    with Signals() as signals, ExitStack() as stack:
        with signals.held():
            folder = stack.enter_context(
                TemporaryDirectory(prefix="fettle-pages-", ignore_cleanup_errors=True)
            )
        yield _start(stack.enter_context(running(signals)), Path(folder))


def _start(processes: Processes, folder: Path) -> House:
    redis_port, port = ports.free(2)
    server = redis_server.prepare(folder / "redis", redis_port, sealed({}))
    redis_server.wait_ready(server, _child(processes, server.program, folder))
    key = secrets.token_urlsafe(24)
    env = environment(
        redis_url=server.url,
        broker_url=server.broker_url,
        data_dir=str(folder / "data"),
        host=ports.LOOPBACK,
        port=port,
    )
    env |= {"FETTLE_CONFIG": str(folder / "fettle.toml"), "FETTLE_LOG_LEVEL": "WARNING"}
    env |= {"FETTLE_API_KEY": key, "FETTLE_RATE_LIMIT": "1000000/minute"}
    house = House(f"http://{ports.LOOPBACK}:{port}", key, server.url, folder / "data")
    _wait(house.url, _child(processes, Deployment(port, sealed(env)).api(), folder), folder)
    return house


def _wait(url: str, child: Child, folder: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            if httpx.get(f"{url}/healthz", timeout=2.0, trust_env=False).is_success:
                return
        except httpx.TransportError:
            if child.ended() is not None or time.monotonic() > deadline:
                log = (folder / f"{child.program.name}.log").read_text(errors="replace")
                raise CliError("the API cannot work here", log[-2_000:]) from None
        time.sleep(0.05)


def _child(processes: Processes, program: Program, folder: Path) -> Child:
    with (folder / f"{program.name}.log").open("wb") as log:
        return processes.start(program, log)
