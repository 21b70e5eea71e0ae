"""A deployment in a temporary directory, on free ports, that ends with the demo."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli import bubblewrap, checkup, ports, redis_server
from cli.checkup import Health
from cli.deployment import Deployment, environment
from cli.errors import CliError
from cli.processes import Child, Processes, Program, running
from cli.screen import Screen
from cli.service import Service
from cli.signals import Signals
from settings.children import sealed

READY_SECONDS = 90.0
LOG_LINES = 15


@contextmanager
def throwaway(
    screen: Screen,
    *,
    workers: int = 1,
    env: Mapping[str, str] | None = None,
    key: str | None = None,
    keep: Path | None = None,
) -> Iterator[Service]:
    """A service that is ready for jobs; `env` goes to its processes, over what they are given.

    Its key is `key`, else one that nobody knows. In the folder `keep`, if there is one, everything
    stays, and goes on where an earlier service in it has stopped, however that did.

    Raises CliError where it cannot become so.
    """
    with Signals() as signals, ExitStack() as stack:
        with signals.held():  # a signal in the middle of it would leave the directory behind
            folder = keep or stack.enter_context(
                TemporaryDirectory(prefix="fettle-demo-", ignore_cleanup_errors=True)
            )
        processes = stack.enter_context(running(signals))
        bubblewrap.ensure()
        starting = _Starting(screen, processes, Path(folder))
        with starting.service(workers, env or {}, key or secrets.token_urlsafe(24)) as service:
            yield service


class _Starting:
    """Starts the programs, each with a log file in the folder."""

    def __init__(self, screen: Screen, processes: Processes, folder: Path) -> None:
        self._screen = screen
        self._processes = processes
        self._folder = folder

    def service(self, workers: int, given: Mapping[str, str], key: str) -> Service:
        """Start Redis, then API and workers, and wait until a job could run."""
        begun = time.monotonic()
        redis_server.wait_gone(self._folder / "redis")
        redis_port, broker_port, api_port = ports.free(3)
        server = redis_server.prepare(self._folder / "redis", redis_port, sealed({}))
        broker = redis_server.prepare_broker(self._folder / "broker", broker_port, sealed({}))
        for each in (server, broker):
            try:
                redis_server.wait_ready(each, self._start(each.program))
            except CliError as error:
                raise self._failure(each.program, error.title) from None
        self._screen.line("redis", f"{server.program.argv[0]} on port {redis_port}")
        own = environment(
            redis_url=server.url,
            broker_url=broker.url,
            data_dir=str(self._folder / "data"),
            host=ports.LOOPBACK,
            port=api_port,
        )
        no_file = str(self._folder / "fettle.toml")
        own |= {"FETTLE_API_KEY": key, "FETTLE_CONFIG": no_file, "FETTLE_RETRY_SECONDS": "1"}
        env = sealed({**own, **given})
        deployment = Deployment(api_port, env)
        children = [self._start(p) for p in (deployment.api(), *deployment.workers(workers))]
        service = Service(f"http://{ports.LOOPBACK}:{api_port}", key)
        self._wait_ready(service, children, workers)
        _refuse_what_cannot_work(service)
        seconds = time.monotonic() - begun
        self._screen.line(
            "service", f"{service.url}, {_workers(workers)}, ready in {seconds:.1f} s"
        )
        return service

    def _start(self, program: Program) -> Child:
        with self._log(program).open("wb") as log:
            return self._processes.start(program, log)

    def _wait_ready(self, service: Service, children: list[Child], workers: int) -> None:
        deadline = time.monotonic() + READY_SECONDS
        with self._screen.waiting("starting the API and a worker"):
            while not service.ready(workers):
                for child in children:
                    if child.ended() is not None:
                        raise self._failure(child.program, "it ended while it started")
                if time.monotonic() > deadline:
                    raise self._failure(children[-1].program, "the service did not become ready")
                time.sleep(0.05)

    def _failure(self, program: Program, why: str) -> CliError:
        log = self._log(program).read_text(errors="replace").splitlines()[-LOG_LINES:]
        detail = "\n".join([f"{why}; the end of its log:", *log])
        return CliError(f"the {program.name} cannot work here", detail, "fettle doctor")

    def _log(self, program: Program) -> Path:
        return self._folder / f"{program.name}.log"


def _refuse_what_cannot_work(service: Service) -> None:
    """Say at once what would make every job fail."""
    for finding in checkup.findings(service.system()):
        if finding.health is Health.BAD:
            title = f"no job can run here: {finding.name.strip()}"
            raise CliError(title, finding.text, finding.advice or "see `fettle doctor`")


def _workers(count: int) -> str:
    return "one worker" if count == 1 else f"{count} workers"
