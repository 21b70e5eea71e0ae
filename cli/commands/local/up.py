"""`fettle up`: everything for daily use on one machine."""

from __future__ import annotations

import fcntl
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import click

from cli.context import load, refuse_names
from cli.errors import DISK_FULL, BadSettings, CliError
from cli.local import bubblewrap, ports, redis_server
from cli.local.deployment import Deployment, environment, flower_installed
from cli.local.embedded import serve_caller
from cli.local.own_folder import refuse_tracked
from cli.local.processes import adopt_orphans, running, wait_for_orphans
from cli.local.supervisor import Supervisor
from cli.output import Screen
from cli.render.parts import Tone
from cli.signals import Signals, StoppedBySignal
from fettle import Service
from settings.api import ApiSettings
from settings.base import DEVELOPMENT_KEY
from settings.client import UpSettings, child_environment, model_keys
from settings.worker import WorkerSettings

TASK = "Write a binary search and test it on 20 numbers."
USUAL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class ServiceAddresses:
    """The addresses and secrets that the banner shows."""

    url: str
    flower_port: int | None
    """None if Flower is not installed."""
    flower_password: str | None = field(repr=False)
    """None if the operator has set the password."""
    key: str | None = field(repr=False)
    """None if the operator has set the key."""
    models: Sequence[str]
    """The names of the environment variables that have a provider's key."""
    sign_in: str = field(default="", repr=False)
    """The path of a link that signs a browser in, once."""


def banner(screen: Screen, addresses: ServiceAddresses) -> None:
    """Show the addresses, and the next command to type."""
    screen.title("Fettle is up")
    for label, value in _banner_lines(addresses):
        screen.copyable(label, value)
    screen.text()


def _banner_lines(addresses: ServiceAddresses) -> list[tuple[str, str]]:
    url = "" if addresses.url == USUAL else f"--url {addresses.url} "
    model = "" if addresses.models else "--model recording:demo-binary-search "
    password = addresses.flower_password or "from FETTLE_FLOWER_PASSWORD"
    flower = "not installed: pip install 'fettle[flower]'"
    if addresses.flower_port is not None:
        flower = f"http://127.0.0.1:{addresses.flower_port}, user fettle, password {password}"
    missing = "no key: set GROQ_API_KEY or GOOGLE_API_KEY (recordings can be played without)"
    pages = f"{addresses.url}{addresses.sign_in or '/app'}"
    once = " (signs you in; once, within 15 minutes)" if addresses.sign_in else ""
    return [
        ("pages", f"{pages}{once}"),
        ("api", f"{addresses.url}, its documentation at {addresses.url}/docs"),
        ("key", addresses.key or "from FETTLE_API_KEY"),
        ("models", ", ".join(addresses.models) or missing),
        ("flower", flower),
        ("try", f'fettle {url}run {model}"{TASK}"'),
        ("stop", "Ctrl-C"),
    ]


TICK_SECONDS = 0.1
LOOK_SECONDS = 0.5
PROBE_BYTES = 64 * 1024
"""The least space that the disk must have for a job."""


@click.command()
@click.option("--port", type=click.IntRange(1, 65_535), help="Port of the API (FETTLE_PORT).")
@click.option("--workers", type=click.IntRange(1), help="Worker processes (FETTLE_WORKERS).")
@click.option("--flower-port", type=click.IntRange(1, 65_535), help="Port of Flower.")
@click.option("--temporary", is_flag=True, help="For a program: end with it, and keep nothing.")
def up_command(*, temporary: bool, **flags: int | None) -> None:
    """Run Redis, the API, workers and Flower, with their logs, until Ctrl-C.

    Jobs are kept in .fettle (FETTLE_DATA_DIR). A program that dies is restarted. With --temporary,
    Redis, API and workers run on free ports in a temporary folder until stdin is closed; the
    output is one line of JSON with `url` and `api_key`.
    """
    if temporary:
        serve_caller(flags["workers"] or 1)
        return
    options = {name: value for name, value in flags.items() if value is not None}
    api = load(ApiSettings, **_of(ApiSettings, options))
    up = load(UpSettings, **_of(UpSettings, options))
    worker = load(WorkerSettings)
    refuse_names(api)
    if api.port == 0:  # the banner has to name it
        api = api.model_copy(update={"port": ports.free(1)[0]})
    if "data_dir" not in api.model_fields_set:
        refuse_tracked(api.data_dir, "name another folder: FETTLE_DATA_DIR=...")
    screen = Screen()
    adopt_orphans()
    with Signals() as signals, _alone(api.data_dir):
        bubblewrap.ensure()
        _free(api.host, api.port, "--port")
        of_api = api.port if _reachable(api.host) == ports.LOOPBACK else None
        _free(ports.LOOPBACK, up.flower_port, "--flower-port", of_api)
        with running(signals) as processes:
            supervisor = Supervisor(processes, screen)
            try:
                _run(supervisor, screen, api, up, worker)
            except StoppedBySignal:  # which is how this command is meant to end
                screen.text()
                screen.line("stopping", "workers return their jobs; Ctrl-C again stops at once")
        wait_for_orphans()
        supervisor.show_last_lines()
        screen.line("stopped", "Redis, API, workers and Flower have ended", Tone.GOOD)


def _run(
    supervisor: Supervisor,
    screen: Screen,
    api: ApiSettings,
    up: UpSettings,
    worker: WorkerSettings,
) -> None:
    redis_url, broker_url = _redis(supervisor, screen, api)
    variables = environment(
        redis_url=redis_url,
        broker_url=broker_url,
        data_dir=str(api.data_dir.resolve()),
        host=api.host,
        port=api.port,
        drain_seconds=worker.drain_seconds,
    )
    if "log_format" not in api.model_fields_set:
        variables["FETTLE_LOG_FORMAT"] = "console"
    if flower_installed():
        variables.setdefault("FETTLE_FLOWER_URL", f"http://{ports.LOOPBACK}:{up.flower_port}")
    deployment = Deployment(api.port, child_environment(variables))
    password = up.flower_password
    flower = password.get_secret_value() if password else secrets.token_urlsafe(12)
    for program in (deployment.api(), *deployment.workers(up.workers)):
        supervisor.start(program)
    if flower_installed():
        supervisor.start(deployment.flower(up.flower_port, flower))
    key = api.api_key.get_secret_value() if api.api_key else DEVELOPMENT_KEY
    addresses = ServiceAddresses(
        url=f"http://{_reachable(api.host)}:{api.port}",
        flower_port=up.flower_port if flower_installed() else None,
        flower_password=None if password else flower,
        key=key if key == DEVELOPMENT_KEY else None,
        models=model_keys(),
    )
    with Service(addresses.url, key) as service:
        _until_ready(service, supervisor)
        link = service.sign_in_link()
    supervisor.all_well()
    banner(screen, replace(addresses, sign_in=link))
    while True:
        supervisor.tick(TICK_SECONDS)


def _until_ready(service: Service, supervisor: Supervisor) -> None:
    """Return when the service is ready. Asks it once per `LOOK_SECONDS`, because the service logs
    every request."""
    while not service.ready(workers=1):
        next_look = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < next_look:
            supervisor.tick(TICK_SECONDS)


def _redis(supervisor: Supervisor, screen: Screen, api: ApiSettings) -> tuple[str, str]:
    """The URLs of record and broker: by the settings, or else of two servers that this function
    starts."""
    if api.model_fields_set & {"redis_url", "broker_url"}:
        return api.redis_url.url, api.broker_url.url
    port, broker_port = ports.free(2)
    server = redis_server.prepare(api.data_dir / "redis", port, child_environment({}))
    broker = redis_server.prepare_broker(
        api.data_dir / "broker", broker_port, child_environment({})
    )
    screen.line("redis", f"{server.program.argv[0]}, data in {api.data_dir / 'redis'}")
    for redis in (server, broker):
        redis_server.wait_ready(redis, supervisor.start(redis.program))
    return server.url, broker.url


@contextmanager
def _alone(data_dir: Path) -> Iterator[None]:
    """Allow one `fettle up` for each data directory: two servers would destroy an append-only
    file."""
    with _lock_file(data_dir) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CliError(
                f"another `fettle up` runs on {data_dir.resolve()}",
                next_step="use that deployment, or name another directory: FETTLE_DATA_DIR=...",
            ) from None
        yield


def _lock_file(data_dir: Path) -> IO[bytes]:
    """The lock file, in a directory that can be written and has space left."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        path = data_dir / "up.lock"
        path.write_bytes(bytes(PROBE_BYTES))
        return path.open("wb")
    except OSError as error:
        cause = "the disk is full" if error.errno in DISK_FULL else str(error.strerror)
        raise BadSettings(
            f"the data directory {data_dir.absolute()} cannot be written",
            cause,
            "free some space, give its user the right to write, or set FETTLE_DATA_DIR=...",
        ) from None


def _free(host: str, port: int, flag: str, of_api: int | None = None) -> None:
    if port == of_api:
        raise CliError(
            f"API and Flower cannot both listen on port {port}",
            next_step=f"use another port: fettle up {flag} {port + 1}",
        )
    if ports.is_taken(host, port):
        raise CliError(
            f"port {port} is taken",
            f"`ss -ltnp sport = :{port}` shows by which process",
            f"end that process, or use another port: fettle up {flag} {port + 1}",
        )


def _of(kind: type[ApiSettings | UpSettings], flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if name in kind.model_fields}


def _reachable(host: str) -> str:
    return {"0.0.0.0": ports.LOOPBACK, "::": "[::1]"}.get(host, host)  # noqa: S104
