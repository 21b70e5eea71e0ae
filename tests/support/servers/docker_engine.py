"""A Docker engine for tests, with the sandboxes' image: one engine per session.

If the user is root, `deploy/engine.sh` starts the engine. Other users name an engine that they may
use, for example a rootless engine: FETTLE_TEST_ENGINE=unix:///run/user/1000/docker.sock. Without an
engine, pytest does not collect the tests of the backend `docker`, and the session's header says so.
Tests that kill an engine need their own engine; without root they are skipped, with the reason.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
IMAGE = "fettle-sandbox"
ENGINE_ADDRESS = os.environ.get("FETTLE_TEST_ENGINE")
OWN = os.geteuid() == 0
AVAILABLE = OWN or ENGINE_ADDRESS is not None
BACKENDS = ("docker",) if AVAILABLE else ()
"""Parameters of a test; empty if no engine is available."""


@dataclass(frozen=True)
class Engine:
    """An engine with the image `IMAGE`; `folder` is None if another user started the engine."""

    host: str
    folder: Path | None


def header() -> str:
    """The line in the session's header about the backend `docker`."""
    if ENGINE_ADDRESS is not None:
        note = f"docker: tested with the engine at {ENGINE_ADDRESS}"
        missing = "; an engine's death (test_faults_engine.py) NOT tested: run as root"
        return note if OWN else note + missing
    if OWN:
        return "docker: tested with an engine of the session's own"
    return "docker: NOT tested: run as root, or name an engine in FETTLE_TEST_ENGINE"


@contextmanager
def started(config: Mapping[str, Any]) -> Iterator[Engine]:
    """A separate engine without an image. `config` is its daemon.json."""
    folder = Path(tempfile.mkdtemp(prefix="fettle-engine-"))
    (folder / "daemon.json").write_text(json.dumps(config))
    try:
        output = script("engine.sh", "start", str(folder), str(os.getpid()))
        yield Engine(output.splitlines()[-1], folder)
    finally:
        script("engine.sh", "stop", str(folder))


@contextmanager
def shared(folder: Path) -> Iterator[Engine]:
    """The session's engine. `folder` is common to the processes of one session: the first process
    starts the engine, the last process ends it.
    """
    if ENGINE_ADDRESS is not None:
        build(ENGINE_ADDRESS)
        yield Engine(ENGINE_ADDRESS, None)
        return
    with _counted(folder, 1) as users:
        location_file = folder / "engine"
        if users == 1:
            location_file.write_text(tempfile.mkdtemp(prefix="fettle-engine-"))
        owner = str(os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid())
        directory = location_file.read_text()
        host = script("engine.sh", "start", directory, owner).splitlines()[-1]
        build(host)
    try:
        yield Engine(host, Path(directory))
    finally:
        with _counted(folder, -1) as users:
            if users == 0:
                script("engine.sh", "stop", directory)


def build(host: str, image: str = IMAGE, **environment: str) -> None:
    """Build the sandboxes' image on this engine, unless the current image exists."""
    script("sandbox-image.sh", image, DOCKER_HOST=host, **environment)


def script(name: str, *words: str, **environment: str) -> str:
    """Run one of the project's scripts; return its output."""
    done = subprocess.run(
        [DEPLOY / name, *words],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"deploy/{name}: {done.stdout}{done.stderr}"
    return done.stdout.strip()


@contextmanager
def _counted(folder: Path, change: int) -> Iterator[int]:
    """The number of processes that use the engine, after this process started or ended its use.
    Other processes wait for the lock.
    """
    with (folder / "engine.users").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        users = int(file.read() or 0) + change
        file.truncate(0)
        file.write(str(users))
        file.flush()
        yield users
