"""A deployment in a temporary directory, on free ports, that ends with its `with` block."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from cli.doctor import deployment
from cli.doctor.deployment import Rating
from cli.errors import CliError
from cli.local import bubblewrap, ports, redis_server
from cli.local.deployment import Deployment, environment
from cli.local.processes import LoggedProcesses, running
from cli.local.temporary_folder import temporary_folder
from cli.output import Screen
from cli.signals import Signals
from fettle import Service
from settings.client import isolated_environment

READY_SECONDS = 180.0
"""For an overloaded machine: a program that cannot work ends earlier, with an error."""


@contextmanager
def throwaway(
    screen: Screen,
    *,
    workers: int = 1,
    env: Mapping[str, str] | None = None,
    key: str | None = None,
    keep: Path | None = None,
) -> Iterator[Service]:
    """Start a service, and wait until it is ready for jobs.

    `env` is added to the environment of its processes. `key` is its key; the default is a random
    key. With the folder `keep`, its data stay there, and a service that was stopped or killed in
    this folder continues. Raises CliError if the service does not become ready.
    """
    with Signals() as signals, ExitStack() as stack:
        if keep is None:
            with signals.delayed():  # a signal here would leave the folder behind
                folder, *inherited = stack.enter_context(temporary_folder("fettle-demo-"))
        else:
            folder, inherited = keep, []
        programs = LoggedProcesses(stack.enter_context(running(signals, inherited)), folder)
        bubblewrap.ensure()
        started_at = time.monotonic()
        variables = {"FETTLE_API_KEY": key or secrets.token_urlsafe(24)}
        variables = {**_servers(screen, programs), **variables, **(env or {})}
        with _service(screen, programs, variables, workers) as service:
            _require_working(service)
            seconds = time.monotonic() - started_at
            ready = f"{service.url}, {_workers(workers)}, ready in {seconds:.1f} s"
            screen.line("service", ready)
            yield service


def _servers(screen: Screen, programs: LoggedProcesses) -> dict[str, str]:
    """Start both Redis servers. Returns the environment of the other programs."""
    folder = programs.folder
    redis_server.wait_gone(folder / "redis")
    redis_port, broker_port, api_port = ports.free(3)
    server = redis_server.prepare(folder / "redis", redis_port, isolated_environment({}))
    broker = redis_server.prepare_broker(folder / "broker", broker_port, isolated_environment({}))
    for redis in (server, broker):
        try:
            redis_server.wait_ready(redis, programs.start(redis.program))
        except CliError as error:
            raise programs.failure(redis.program, error.title) from None
    screen.line("redis", f"{server.program.argv[0]} on port {redis_port}")
    variables = environment(
        redis_url=server.url,
        broker_url=broker.url,
        data_dir=str(folder / "data"),
        host=ports.LOOPBACK,
        port=api_port,
    )
    return variables | {"FETTLE_RETRY_SECONDS": "1"}


def _service(
    screen: Screen, programs: LoggedProcesses, env: Mapping[str, str], workers: int
) -> Service:
    """Start API and workers, and wait until a job could run."""
    port = int(env["FETTLE_PORT"])
    deployment = Deployment(port, isolated_environment(dict(env)))
    children = [programs.start(p) for p in (deployment.api(), *deployment.workers(workers))]
    service = Service(f"http://{ports.LOOPBACK}:{port}", env["FETTLE_API_KEY"])
    with screen.waiting("starting the API and a worker"):
        programs.wait_until(
            lambda: service.ready(workers), "it is ready", *children, seconds=READY_SECONDS
        )
    return service


def _require_working(service: Service) -> None:
    """Raise CliError if every job would fail."""
    for finding in deployment.findings(service.system()):
        if finding.health is Rating.BAD:
            title = f"no job can run here: {finding.name.strip()}"
            raise CliError(title, finding.text, finding.advice or "see `fettle doctor`")


def _workers(count: int) -> str:
    return "one worker" if count == 1 else f"{count} workers"
