"""One side of the comparison: the API of a checkout with its own Redis, and a signed-in client."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from cli.errors import CliError
from cli.local import ports, redis_server
from cli.local.deployment import DRAIN_SECONDS, Deployment, environment
from cli.local.processes import Child, LocalProgram, LoggedProcesses
from lab.benchmarks.pages import fill
from settings.client import isolated_environment

READY_SECONDS = 60.0
FILL_SECONDS = 300
PAGE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Side:
    """A running API with jobs on record."""

    client: httpx.Client
    paths: Mapping[str, str]
    """The address of each measured page, by its name."""

    def seconds(self, page: str) -> float:
        """The time of a request for the page."""
        started_at = time.perf_counter()
        answer = self.client.get(self.paths[page])
        seconds = time.perf_counter() - started_at
        if answer.status_code != httpx.codes.OK:
            raise CliError(f"{self.paths[page]} answered {answer.status_code}", answer.text[:500])
        return seconds


def start_side(
    programs: LoggedProcesses, name: str, checkout: Path, waiting: int, events: int
) -> Side:
    """Start the API of a checkout, with jobs on record. Raises CliError."""
    redis_port, port = ports.free(2)
    folder = programs.folder / name
    server = redis_server.prepare(folder / "redis", redis_port, isolated_environment({}))
    redis_server.wait_ready(server, _start(programs, name, server.program))
    key = secrets.token_urlsafe(24)
    env = environment(
        redis_url=server.url,
        broker_url=server.broker_url,
        data_dir=str(folder / "data"),
        host=ports.LOOPBACK,
        port=port,
        drain_seconds=DRAIN_SECONDS,
    )
    env |= {"FETTLE_API_KEY": key, "FETTLE_RATE_LIMIT": "1000000/minute"}
    # the checkout's packages come before those that this interpreter has installed
    env = {**isolated_environment(env), "PYTHONPATH": str(checkout)}
    job_id = _fill(env, waiting, events)
    child = _start(programs, name, Deployment(port, env).api())
    client = httpx.Client(base_url=f"http://{ports.LOOPBACK}:{port}", timeout=PAGE_SECONDS)
    programs.wait_until(
        lambda: _is_ready(client), f"the API of {name} answers", child, seconds=READY_SECONDS
    )
    signed_in = client.post("/app/sign-in", data={"key": key})
    if signed_in.status_code != httpx.codes.SEE_OTHER:
        raise CliError(f"{name}: signing in was refused", signed_in.text[:500])
    return Side(client, {"inbox": "/app/inbox", "list": "/app", "job": f"/app/jobs/{job_id}"})


def _start(programs: LoggedProcesses, side: str, program: LocalProgram) -> Child:
    program_of_side = LocalProgram(
        f"{side} {program.name}", program.argv, program.env, program.tier, program.stop_seconds
    )
    return programs.start(program_of_side)


def _fill(env: Mapping[str, str], waiting: int, events: int) -> str:
    argv = (sys.executable, "-P", fill.__file__, str(waiting), str(events))
    done = subprocess.run(
        argv, env=dict(env), capture_output=True, text=True, timeout=FILL_SECONDS, check=False
    )
    if done.returncode:
        raise CliError("the jobs cannot be put on record", done.stderr[-2_000:])
    return done.stdout.strip()


def _is_ready(client: httpx.Client) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return client.get("/healthz").status_code == httpx.codes.OK
    return False
