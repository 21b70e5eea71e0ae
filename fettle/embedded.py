"""`run`: a task in one call, by a service that runs, else by an embedded service."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Unpack

import httpx

from fettle import types
from fettle._sync.client import Client
from fettle._sync.job import Result
from fettle._sync.service import Content
from fettle._sync.transport import DEFAULT_URL
from fettle.errors import FettleError, ServiceUnreachable

LOOK_SECONDS = 1.0
STOP_SECONDS = 40.0
"""A worker returns its jobs before it ends."""


def run(
    task: str,
    *,
    files: Mapping[str, Content] | None = None,
    bundle: bytes | None = None,
    idempotency_key: str | None = None,
    **fields: Unpack[types.JobOptions],
) -> Result:
    """Submit a task, and wait for its result; the arguments are those of `Client.submit`.

    The service is at FETTLE_URL, else at the address of `fettle up`. If no service answers there,
    this function starts a temporary service: it needs the distribution `fettle`, later calls use it
    again, and it ends with this program. Its jobs and files end with it, too. Raises JobFailed,
    JobCancelled, ServiceUnreachable.
    """
    url, key = (None, None) if _is_running() else EMBEDDED.address()
    # The result reads its files over this client, so the client stays open.
    client = Client(url, key)
    job = client.submit(task, files=files, bundle=bundle, idempotency_key=idempotency_key, **fields)
    return job.result()


def _is_running() -> bool:
    """Whether the environment names a service, or a service answers at the default address."""
    if os.environ.get("FETTLE_URL"):
        return True
    try:
        # A proxy cannot reach the loopback of this machine.
        return httpx.get(f"{DEFAULT_URL}/healthz", timeout=LOOK_SECONDS, trust_env=False).is_success
    except httpx.TransportError:
        return False


class EmbeddedService:
    """A service of this program: it starts with the first call, and ends with the program.

    The service watches its stdin. The kernel closes this pipe when the program ends, also by
    SIGKILL.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._address = ("", "")

    def address(self) -> tuple[str, str]:
        """The address and the key. Starts the service if it does not run."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._start()
            return self._address

    def stop(self) -> None:
        """End the service, and wait until all of its processes have ended."""
        with self._lock:
            if (process := self._process) is None:
                return
            self._process = None
            # Its stdin is closed in any case, so it also ends later without this program.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=STOP_SECONDS)

    def _start(self) -> None:
        program = shutil.which("fettle", path=_program_folders())
        if program is None:
            raise ServiceUnreachable(
                f"no service answers at {DEFAULT_URL}, and the program `fettle` is not installed",
                remedy="name a service: FETTLE_URL; or install the distribution `fettle`",
            )
        with TemporaryFile() as progress:
            process = subprocess.Popen(
                [program, "up", "--temporary"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=progress,
                start_new_session=True,  # Ctrl-C stops the program first
            )
            line = process.stdout.readline() if process.stdout else b""
            if not line:
                process.communicate()
                progress.seek(0)
                raise FettleError(
                    "the embedded service could not be started",
                    progress.read().decode(errors="replace").strip(),
                )
        address = json.loads(line)
        self._process, self._address = process, (address["url"], address["api_key"])


def _program_folders() -> str:
    """The folders with programs: those of this Python first."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


EMBEDDED = EmbeddedService()
"""The service of this program, which all calls of `run` share."""
atexit.register(EMBEDDED.stop)
