"""`python -m api` as a real process on a free port, for behaviour that only a server has."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import httpx_sse
from support.processes.preloaded import Process, start_process

from settings.base import DEVELOPMENT_KEY


def api_environment(redis_url: str, folder: Path, **changed: str) -> dict[str, str]:
    """The environment of an API process over a test's own Redis, without variables of the host."""
    broker = redis_url
    if redis_url.startswith("unix"):
        broker = f"{redis_url}?db=1"
    plain = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "FETTLE_PORT": "0",
        "FETTLE_REDIS_URL": redis_url,
        "FETTLE_BROKER_URL": broker,
        "FETTLE_DATA_DIR": str(folder / "data"),
    }
    return {**plain, **{f"FETTLE_{name.upper()}": value for name, value in changed.items()}}


def run_until_refused(env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a process that is expected to end by itself; its `stderr` is its full output."""
    log = Path(env["HOME"]) / "refused.log"
    with log.open("wb") as out:
        code = start_process("api", env, out).wait(60)
    return subprocess.CompletedProcess("api", code, stderr=log.read_text())


@dataclass
class ApiProcess:
    """A running API; its log is a file of JSON lines."""

    process: Process
    log: Path
    url: str = ""

    def logged(self) -> list[dict[str, Any]]:
        """The parsed log. An incomplete last line is ignored."""
        lines = self.log.read_text(errors="replace").split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def open_files(self) -> int:
        """The number of files and sockets that the process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def client(self, secret: str = DEVELOPMENT_KEY) -> httpx.AsyncClient:
        """A client with a key."""
        return httpx.AsyncClient(base_url=self.url, headers={"X-API-Key": secret}, timeout=10)

    def stop(self, seconds: float = 10) -> int:
        """Send SIGTERM; return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def wait_until_listening(self, seconds: float = 30) -> None:
        """Read the process's address from its log."""
        ends = time.monotonic() + seconds
        while not self.url:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < ends, self.log.read_text()
            addresses = [line["url"] for line in self.logged() if line["event"] == "listening"]
            self.url = addresses[0] if addresses else ""
            time.sleep(0.02)


@contextlib.contextmanager
def running(env: dict[str, str], log: Path) -> Iterator[ApiProcess]:
    """Run a process that listens until the block ends."""
    with log.open("wb") as out:
        process = start_process("api", env, out)
    api = ApiProcess(process, log)
    try:
        api.wait_until_listening()
        yield api
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@contextlib.asynccontextmanager
async def stream(
    client: httpx.AsyncClient, job_id: str, **headers: str
) -> AsyncIterator[httpx_sse.EventSource]:
    """Open a job's event stream."""
    path = f"/jobs/{job_id}/events"
    async with httpx_sse.aconnect_sse(client, "GET", path, headers=headers) as source:
        yield source
