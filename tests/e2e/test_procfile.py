"""The Procfile, run as by any Procfile runner: a shell runs each line, with PORT set."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from support.processes.fettle_command import REPOSITORY, environment
from support.servers import redis_servers

from cli.local import ports
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e

LINES = dict(
    line.split(": ", 1)
    for line in (REPOSITORY / "Procfile").read_text().splitlines()
    if line and not line.startswith("#")
)


@pytest.fixture
def start(tmp_path: Path):
    """Starts a line of the Procfile; all lines are ended after the test."""
    processes: list[subprocess.Popen[bytes]] = []

    def starting(name: str, env: dict[str, str]) -> subprocess.Popen[bytes]:
        with (tmp_path / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                ["sh", "-c", LINES[name]],
                cwd=REPOSITORY,
                env=env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        processes.append(process)
        return process

    yield starting
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
    for process in processes:
        process.wait(30)


def answer(url: str, expected_status: int, **more) -> None:
    """Wait until a GET has this status."""
    deadline = time.monotonic() + 60
    status = 0
    while status != expected_status:
        assert time.monotonic() < deadline, f"{url} says {status}, not {expected_status}"
        time.sleep(0.1)
        try:
            status = httpx.get(url, **more).status_code
        except httpx.TransportError:
            continue


def listed(url: str) -> None:
    """Wait until the service lists a worker."""
    deadline = time.monotonic() + 60
    headers = {"X-API-Key": DEVELOPMENT_KEY}
    while not httpx.get(url, headers=headers).raise_for_status().json()["workers"]:
        assert time.monotonic() < deadline, "no worker is listed"
        time.sleep(0.1)


def test_web_worker_and_flower(tmp_path, start):
    assert set(LINES) == {"web", "worker", "flower"}
    binary = next(iter(redis_servers.binaries().values()))
    with redis_servers.start(binary, tmp_path / "redis", tcp=True) as server:
        port, flower_port = ports.free(2)
        env = environment(
            tmp_path,
            PORT=str(port),
            FETTLE_FLOWER_PORT=str(flower_port),
            FETTLE_REDIS_URL=server.url,
            FETTLE_BROKER_URL=server.url.removesuffix("0") + "1",
            FETTLE_DATA_DIR=str(tmp_path / "data"),
        )
        assert start("flower", env).wait(60) != 0
        assert "FETTLE_FLOWER_PASSWORD" in (tmp_path / "flower.log").read_text()

        start("web", env)
        start("worker", env)
        start("flower", {**env, "FETTLE_FLOWER_PASSWORD": "hush"})
        answer(f"http://127.0.0.1:{port}/readyz", 200)
        listed(f"http://127.0.0.1:{port}/system")
        answer(f"http://127.0.0.1:{flower_port}/", 401)
        answer(f"http://127.0.0.1:{flower_port}/", 200, auth=("fettle", "hush"))
