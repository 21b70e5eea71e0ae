"""A temporary deployment; the drill kills its programs and starts them again."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.local import bubblewrap, ports, redis_server
from cli.local.deployment import Deployment, environment
from cli.local.processes import Child, LoggedProcesses, Processes, running
from cli.signals import Signals
from fettle import Service
from fettle.errors import FettleError
from settings.client import isolated_environment


class ScratchDeployment:
    """One Redis, one API and one worker, each with a log file that continues over restarts."""

    def __init__(self, processes: Processes, folder: Path, settings: Mapping[str, str]) -> None:
        redis_port, api_port = ports.free(2)
        self._programs = LoggedProcesses(processes, folder)
        self._redis = redis_server.prepare(folder / "redis", redis_port, isolated_environment({}))
        self._url = f"http://{ports.LOOPBACK}:{api_port}"
        self._key = secrets.token_urlsafe(24)
        variables = environment(
            redis_url=self._redis.url,
            broker_url=self._redis.broker_url,
            data_dir=str(folder / "data"),
            host=ports.LOOPBACK,
            port=api_port,
        )
        env = {**variables, "FETTLE_API_KEY": self._key, **settings}
        self._deployment = Deployment(api_port, isolated_environment(env))

    def start_redis(self) -> Child:
        """Start Redis; returns when it answers."""
        child = self._programs.start(self._redis.program)
        redis_server.wait_ready(self._redis, child)
        return child

    def start_api(self) -> Child:
        """Start the API; returns when it answers."""
        child = self._programs.start(self._deployment.api())
        with self.service() as service:

            def answers() -> bool:
                try:
                    service.jobs(limit=1)
                except FettleError:
                    return False
                return True

            self.wait_until(answers, "the API answers", child)
        return child

    def start_worker(self) -> Child:
        """Start a worker. Returns at once; the worker takes jobs when it is ready."""
        return self._programs.start(*self._deployment.workers(1))

    def kill(self, *children: Child) -> None:
        """Send kill -9 to all programs before waiting for any of them."""
        for child in children:
            child.signal(signal.SIGKILL)
        for child in children:
            self._programs.processes.forget(child)

    def service(self) -> Service:
        """A client with its own connections."""
        return Service(self._url, self._key)

    def wait_until(
        self, holds: Callable[[], bool], condition: str, *children: Child, seconds: float = 60.0
    ) -> None:
        """Wait until `holds()` is true. Raises CliError if this takes too long, or if a
        child ends.
        """
        self._programs.wait_until(holds, condition, *children, seconds=seconds)


@contextmanager
def scratch_deployment(settings: Mapping[str, str] | None = None) -> Iterator[ScratchDeployment]:
    """A deployment that leaves no process and no file. `settings` are variables of its API and
    worker."""
    with (
        Signals() as signals,
        TemporaryDirectory(prefix="fettle-drill-", ignore_cleanup_errors=True) as folder,
        running(signals) as processes,
    ):
        bubblewrap.ensure()
        yield ScratchDeployment(processes, Path(folder), settings or {})
