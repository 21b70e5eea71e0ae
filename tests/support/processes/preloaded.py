"""Workers and APIs as separate processes, forked from a process that has loaded all modules.

The program is `python -m PACKAGE` from its first line, with its own environment; only the imports
are shared. If a variable changes the interpreter itself, `start_process` starts a new interpreter.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import IO, Protocol

from support.processes import fork_server
from support.processes.fork_server import REPOSITORY

LAZY = {
    "worker": (
        "agents.models.transport.groq_chat",
        "groq.resources.chat",
        "genai_prices.data",
        "celery.worker.consumer",
        "celery.worker.control",
        "celery.concurrency.solo",
        "kombu.matcher",
        "kombu.transport.redis",
    ),
    "api": ("uvloop", "httptools", "kombu.transport.redis"),
}
"""The modules that a package imports lazily, and that most tests need."""
OF_THE_INTERPRETER = ("PYTHON", "LD_")


class Process(Protocol):
    """The operations on a process that tests use; `subprocess.Popen` has them, too."""

    returncode: int | None

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


def start_process(
    package: str, env: Mapping[str, str], log: IO[bytes], *, release: Path = REPOSITORY
) -> Process:
    """Start `python -m PACKAGE` with this environment; its output goes to the log.

    A release in another folder gets a new interpreter, and so does an environment that changes the
    interpreter.
    """
    if release == REPOSITORY and not any(name.startswith(OF_THE_INTERPRETER) for name in env):
        return Forked(_server(package)[0], env, log)
    argv = [sys.executable, "-m", package]
    return subprocess.Popen(argv, env=env, cwd=release, stdout=log, stderr=log)


class Forked:
    """A child of the server. The server collects the child and reports its exit code."""

    def __init__(self, server: socket.socket, env: Mapping[str, str], log: IO[bytes]) -> None:
        self.returncode: int | None = None
        self._received = ""
        self._channel, child_end = socket.socketpair()
        with child_end:
            order = json.dumps({"env": dict(env)}).encode()
            socket.send_fds(server, [order], [log.fileno(), child_end.fileno()])
        self._read_words(1, None)
        self.pid = int(self._received.split()[0])

    def poll(self) -> int | None:
        """The exit code, or None while the process runs."""
        self._read_words(2, 0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code. Raises subprocess.TimeoutExpired."""
        self._read_words(2, timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
        return self.returncode

    def send_signal(self, sig: int) -> None:
        """Send a signal; no effect if the process has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _read_words(self, words: int, timeout: float | None) -> None:
        """Wait for this number of words from the server: the pid, then the exit code."""
        if self.returncode is not None:
            return
        poll = select.poll()
        poll.register(self._channel, select.POLLIN)
        while self.returncode is None and self._received.count(" ") < words:
            if not poll.poll(None if timeout is None else timeout * 1000):
                return
            answer = self._channel.recv(64).decode()
            assert answer, f"the server of forks is gone: {self._received}"
            self._received += answer
            if self._received.count(" ") == 2:
                self.returncode = int(self._received.split()[1])
                self._channel.close()


@cache
def _server(package: str) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    """The session's fork server; it ends when `own_end` of its socket is closed."""
    own_end, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, fork_server.__file__, str(child_end.fileno()), package]
    env = {"PATH": os.environ["PATH"]}
    with child_end:
        process = subprocess.Popen(
            [*argv, *LAZY[package]], env=env, cwd=REPOSITORY, pass_fds=[child_end.fileno()]
        )
    return own_end, process
