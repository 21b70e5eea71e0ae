"""The two Redis servers that `fettle up` and `fettle demo` start if no setting names a server: a
server that keeps jobs, and a server for hints and request counters, which may be lost and pay for
no disk. `redis_programs` chooses the server program.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis

from cli.errors import CliError
from cli.local import redis_programs
from cli.local.processes import Child, LocalProgram

START_SECONDS = 30.0

CONFIG = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{directory}"
maxmemory-policy noeviction
save ""
loglevel warning
rename-command MODULE ""
rename-command DEBUG ""
rename-command REPLICAOF ""
rename-command SLAVEOF ""
"""
"""The data in the directory are commands, and a server runs each of them when it starts, except
commands that it does not have. So stored data cannot load a library or follow another server."""
DURABLE = "appendonly yes\nappendfsync always\naof-use-rdb-preamble no\n"
"""The record: a write that was answered is on the disk. Its data is a list of commands, which every
server reads: an older release, and the other product, too (ADR 65)."""
VOLATILE = "appendonly no\nmaxmemory 256mb\n"
"""The broker: no data go to the disk, because they may be lost."""


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A server to start, on loopback."""

    program: LocalProgram
    port: int
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        """The URL of the job record."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def broker_url(self) -> str:
        """The URL of Celery's queue, if it has no separate server."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/1"


def prepare(directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    """A server for the data in `directory`, with a password that only its processes know."""
    return _prepare("redis", DURABLE, directory, port, env)


def prepare_broker(directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    """A server that stores no data; its configuration is in `directory`."""
    return _prepare("broker", VOLATILE, directory, port, env)


def _prepare(name: str, keeps: str, directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    password = secrets.token_urlsafe(24)
    config = directory / "redis.conf"
    config.touch(mode=0o600)
    text = CONFIG.format(port=port, password=password, directory=directory.resolve())
    config.write_text(text + keeps, encoding="utf-8")
    program = LocalProgram(
        name, (redis_programs.choose(directory), str(config)), env, tier=0, stop_seconds=10
    )
    return RedisServer(program, port, password)


def wait_gone(directory: Path) -> None:
    """Return when no server uses `directory` any more: the server of a killed command ends a moment
    after the command. Raises CliError if a server does not end.
    """
    try:
        config = (directory / "redis.conf").read_text(encoding="utf-8")
    except OSError:
        return
    settings = dict(line.split(" ", 1) for line in config.splitlines() if " " in line)
    url = f"redis://:{settings.get('requirepass', '')}@127.0.0.1:{settings.get('port', '0')}/0"
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(url, socket_timeout=1, retry=None) as client:
        while time.monotonic() < deadline:
            try:
                client.ping()
            except redis.BusyLoadingError:
                pass
            except redis.RedisError:  # no server answers, or a server with another password
                return
            time.sleep(0.05)
    raise CliError("another Redis server still uses this folder", str(directory))


def wait_ready(server: RedisServer, child: Child) -> None:
    """Return when the server answers. Raises CliError if it ends, or if it does not answer, not
    even that it is loading its data.
    """
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(server.url, socket_timeout=1, retry=None) as client:
        while child.exit_code() is None and time.monotonic() < deadline:
            try:
                client.ping()
            except redis.BusyLoadingError:
                deadline = time.monotonic() + START_SECONDS
                time.sleep(0.02)
            except (redis.ConnectionError, redis.TimeoutError):
                time.sleep(0.02)
            else:
                return
    raise CliError("the Redis server did not start", f"{server.program.argv[0]}")
