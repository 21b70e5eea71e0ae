"""ChaosDeployment: Redis, API and workers of a chaos run, which are killed and started again.

One worker is a separate process that connects to Redis through a proxy. The other workers are
forked from one parent (`forked.py`), so that many can be killed.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import redis

from cli.errors import CliError
from cli.local import bubblewrap, ports, redis_server
from cli.local.deployment import Deployment as Programs
from cli.local.deployment import environment
from cli.local.processes import Child, LocalProgram, Processes
from fettle import Service
from lab.drills import process_tree
from lab.drills.chaos.checks.case import RecoveryBounds
from lab.drills.chaos.faults.tcp_proxy import FaultProxy
from lab.drills.process_tree import Process
from settings.client import isolated_environment

READY_SECONDS = 90.0
LOG_LINES = 15
SLOTS = 16
READY = re.compile(rb'"worker": "[^"]*:(\d+):[0-9a-f]+",[^\n]*"event": "worker ready"')
DIED = re.compile(rb"^worker \d+ ended with (-?\d+)$", re.MULTILINE)
NAMED = 'GROQ_API_KEY=pid-$$ exec "$@"'
"""The shell becomes the worker, so that its pid is the worker's pid, which the provider sees."""


@dataclass
class ChaosDeployment:
    """The running programs. `unasked` counts ends that the drill did not cause, by program and exit
    code.
    """

    processes: Processes
    folder: Path
    bounds: RecoveryBounds
    settings: Mapping[str, str]
    children_wanted: int = 3
    running: dict[str, Child] = field(default_factory=dict)
    unasked: dict[str, int] = field(default_factory=dict)
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    stopping: set[str] = field(default_factory=set)
    _fit: set[int] = field(default_factory=set)
    _read: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Choose ports and write the settings, without starting a program."""
        redis_port, self.api_port = ports.free(2)
        self.redis = redis_server.prepare(
            self.folder / "redis", redis_port, isolated_environment({})
        )
        self.proxy = FaultProxy(ports.LOOPBACK, redis_port)
        self.url = f"http://{ports.LOOPBACK}:{self.api_port}"

    @contextlib.contextmanager
    def ready(self) -> Iterator[None]:
        """Wait until every program runs and can take a job. Raises CliError if that fails."""
        bubblewrap.ensure()
        with self.proxy:
            self.start("redis")
            redis_server.wait_ready(self.redis, self.running["redis"])
            for name in ("api", "worker", "forked"):
                self.start(name)
            self._wait()
            yield

    def start(self, name: str) -> Child:
        """Start a program: redis, api, worker (the separate one) or forked (the parent of the other
        workers).
        """
        program = self._program(name)
        with (self.folder / f"{name}.log").open("ab") as log:
            child = self.processes.start(program, log)
        self.running[name] = child
        return child

    def workers(self) -> list[Process]:
        """The forked workers, the oldest first."""
        return [p for p in process_tree.children(self.running["forked"].pid) if p.lives]

    def fit(self) -> set[int]:
        """The pids of workers that have reported that they are ready; some may have ended since."""
        for name in ("worker", "forked"):
            with (self.folder / f"{name}.log").open("rb") as log:
                log.seek(self._read.get(name, 0))
                text = log.read()
            complete_lines = text[: text.rfind(b"\n") + 1]
            self._read[name] = self._read.get(name, 0) + len(complete_lines)
            self._fit |= {int(pid) for pid in READY.findall(complete_lines)}
            for code in DIED.findall(complete_lines):
                self._died("forked worker", int(code))
        return self._fit

    def keep(self) -> None:
        """Restart the programs that have ended, and collect orphans."""
        self.fit()
        for name, child in list(self.running.items()):
            if (code := child.exit_code()) is not None and name not in self.stopping:
                self._died(name, code)
                self.start(name)
        known_pids = {child.pid for child in self.processes.children}
        for stray in process_tree.children(os.getpid()):
            if stray.state == "Z" and stray.pid not in known_pids:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(stray.pid, os.WNOHANG)

    def log_of(self, name: str) -> str:
        """The end of a program's log."""
        text = (self.folder / f"{name}.log").read_text(errors="replace")
        return "\n".join(text.splitlines()[-LOG_LINES:])

    def _died(self, name: str, code: int) -> None:
        """Describe an exit code with the log of the program; a signal (negative) comes from
        outside.
        """
        death = f"{name} (exit code {code})" if code >= 0 else f"{name} (signal {-code})"
        self.unasked[death] = self.unasked.get(death, 0) + 1

    def _wait(self) -> None:
        deadline = time.monotonic() + READY_SECONDS
        with Service(self.url, self.key) as service:
            while not service.ready(workers=2):
                for name, child in self.running.items():
                    if child.exit_code() is not None:
                        raise CliError(f"the {name} cannot work here", self.log_of(name), "")
                if time.monotonic() > deadline:
                    log = self.log_of("forked")
                    raise CliError("the deployment did not become ready", log, "fettle doctor")
                time.sleep(0.05)

    def _program(self, name: str) -> LocalProgram:
        if name == "redis":
            return self.redis.program
        env = self._env(through_proxy=name == "worker")
        if name == "api":
            return Programs(self.api_port, env).api()
        if name == "worker":
            (program,) = Programs(self.api_port, env).workers(1)
            return LocalProgram(name, ("/bin/sh", "-c", NAMED, "sh", *program.argv), env)
        count = str(self.children_wanted)
        argv = (sys.executable, "-P", "-m", "lab.drills.chaos.deployment.forked", count)
        return LocalProgram(name, argv, env)

    def _env(self, *, through_proxy: bool) -> dict[str, str]:
        urls = (self.redis.url, self.redis.broker_url)
        if through_proxy:
            redis_part, proxy_part = (f":{port}/" for port in (self.redis.port, self.proxy.port))
            urls = (
                urls[0].replace(redis_part, proxy_part),
                urls[1].replace(redis_part, proxy_part),
            )
        variables = environment(
            redis_url=urls[0],
            broker_url=urls[1],
            data_dir=str(self.folder / "data"),
            host=ports.LOOPBACK,
            port=self.api_port,
        )
        variables |= {
            "FETTLE_API_KEY": self.key,
            "FETTLE_LEASE_SECONDS": str(self.bounds.lease),
            "FETTLE_HEARTBEAT_SECONDS": str(self.bounds.heartbeat),
            "FETTLE_SWEEP_SECONDS": str(self.bounds.sweep),
            "FETTLE_RETRY_SECONDS": "0.5",
            "FETTLE_DRAIN_SECONDS": "3",
            "FETTLE_CONCURRENCY": str(SLOTS),
            "FETTLE_RATE_LIMIT": "1000000/minute",
            # They repeat runs, which this drill does not test, and take up to 20 s of processor
            # time of each job: then most jobs would be hit twice.
            "FETTLE_MUTATIONS": "0",
        }
        return isolated_environment({**variables, **self.settings})

    def flush_hints(self) -> None:
        """Empty the broker's database."""
        with redis.Redis.from_url(self.redis.broker_url, socket_timeout=2) as client:
            client.flushdb()
