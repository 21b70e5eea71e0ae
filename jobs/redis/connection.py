"""Connections to Redis, scripts that run although it is full, and its errors as JobsErrors."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import (
    AbstractConnection,
    Connection,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import RedisError, ResponseError

from jobs.errors import StoreFull, StoreRefused, StoreUnavailable

Argument: TypeAlias = str | bytes | int | float
RedisCommand: TypeAlias = Sequence[Argument]
"""A name with its arguments: `("HSET", key, field, value)`."""

ANSWER_SECONDS = 2.0
"""The default time limit for an answer of Redis."""
ALTHOUGH_FULL = "#!lua flags=allow-oom,allow-cross-slot-keys\n"
"""A script with this first line may write although Redis is at its `maxmemory` (Redis 7.0 and
newer)."""
REFUSED_WRITES: Mapping[str, str] = {
    "MISCONF": "it cannot write to its disk",
    "READONLY": "it is a replica",
    "NOREPLICAS": "too few replicas follow it",
}
"""The cause, by the code at the beginning of Redis' answer."""

_LUA = Path(__file__).parent / "lua"


def connect(url: str, *, seconds: float = ANSWER_SECONDS) -> Redis:
    """A client that gives up after `seconds` instead of hanging.

    It never sends a command twice. A commit with a lost answer would fail its own guard, and the
    caller would read that a decision did not apply. A connection that died while it was idle is
    replaced before it is used. Answers stay bytes, because checkpoints are not text.
    """
    # Protocol 2: on 3, redis-py listens for maintenance notifications, and no longer
    # checks whether an idle connection has died (8.1: ConnectionPool.ensure_connection).
    pool = ConnectionPool.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        health_check_interval=30,
        max_connections=1_000,
    )
    pool.connection_class = _CORRECTED[pool.connection_class]
    return Redis.from_pool(pool)


class _CorrectedConnection(AbstractConnection):
    """A connection without three defects of redis-py (8.1).

    redis-py sends within `asyncio.wait_for`, which before Python 3.12 swallows a cancellation that
    comes as the send ends: a cancelled attempt would go on, and a deadline would have no effect.

    uvloop raises RuntimeError if a connection was reset just before the send, and redis-py does not
    translate it: a job would fail because of an error that a retry avoids.

    A Redis with a full disk refuses even PING (MISCONF), which redis-py sends before it uses a
    connection. Such a server is reachable, and can be read.
    """

    socket_timeout: float | None

    async def send_packed_command(
        self, command: bytes | str | Iterable[bytes], check_health: bool = True
    ) -> None:
        """Send a command. Raises redis' TimeoutError or ConnectionError."""
        seconds = self.socket_timeout
        self.socket_timeout = None  # so that redis-py does not call `wait_for`
        try:
            async with asyncio.timeout(seconds):
                await super().send_packed_command(command, check_health)
        except RuntimeError as error:
            raise Unreachable(f"the connection was closed: {error}") from error
        finally:
            self.socket_timeout = seconds

    async def _send_ping(self) -> None:
        with contextlib.suppress(ResponseError):
            await super()._send_ping()  # type: ignore[no-untyped-call]


class TcpConnection(_CorrectedConnection, Connection):
    """redis://"""


class TlsConnection(_CorrectedConnection, SSLConnection):
    """rediss://"""


class SocketConnection(_CorrectedConnection, UnixDomainSocketConnection):
    """unix://"""


_CORRECTED: Mapping[type[AbstractConnection], type[AbstractConnection]] = {
    Connection: TcpConnection,
    SSLConnection: TlsConnection,
    UnixDomainSocketConnection: SocketConnection,
}
"""The kinds of connection, by the class that redis-py chooses for a URL."""


def read_script(name: str) -> str:
    """The text of a script in `lua/`."""
    return (_LUA / f"{name}.lua").read_text()


def urgent_script(redis: Redis, text: str) -> AsyncScript:
    """A script that runs although Redis is full, for small writes that free memory or keep it from
    being lost."""
    return redis.register_script(ALTHOUGH_FULL + text)


class UrgentCommands:
    """Commands that free memory, in one atomic step that runs although Redis is full.

    A full Redis takes no command within MULTI, even a command that it takes otherwise.
    """

    def __init__(self, redis: Redis) -> None:
        self._script = urgent_script(redis, read_script("batch"))

    async def __call__(self, commands: Sequence[RedisCommand]) -> None:
        """Raises redis' errors."""
        await self._script(
            keys=[], args=[word for command in commands for word in (len(command), *command)]
        )


@contextlib.asynccontextmanager
async def translate_redis_errors() -> AsyncIterator[None]:
    """Raise StoreUnavailable if Redis does not answer within the block, StoreRefused if Redis takes
    no writes, and StoreFull if Redis is full."""
    try:
        yield
    except (RedisError, OSError) as error:
        if isinstance(error, RedisError) and is_full(error):
            raise StoreFull(f"Redis is full: {error}") from error
        if isinstance(error, RedisError) and (cause := explain_refused_write(error)):
            raise StoreRefused(f"Redis takes no writes, {cause}: {error}", cause) from error
        raise StoreUnavailable(f"Redis did not answer: {error}") from error


async def await_redis(call: Any) -> Any:
    """The answer to one call of a client or a script. Raises StoreUnavailable.

    Any, because redis-py types each command as awaitable or not.
    """
    async with translate_redis_errors():
        return await call


class Clock:
    """Redis' clock: the only clock that decides about jobs."""

    def __init__(self, redis: Redis) -> None:
        self.redis = redis

    async def now(self) -> int:
        """Redis' time in ms. Raises StoreUnavailable."""
        return to_ms(*await await_redis(self.redis.time()))


def to_ms(seconds: int, micros: int) -> int:
    """Redis' answer to TIME in ms."""
    return int(seconds) * 1000 + int(micros) // 1000


def decode_hash(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """A hash as text."""
    return {key.decode(): value.decode() for key, value in fields.items()}


def is_full(error: RedisError) -> bool:
    """Whether Redis refused a write because it is at its `maxmemory`."""
    return "OOM" in str(error) or "maxmemory" in str(error)


def explain_refused_write(error: RedisError) -> str:
    """Why Redis takes no writes at all; '' if the error has another cause. redis-py removes the
    codes that it knows from the text."""
    text = f"{getattr(error, 'status_code', '')} {error}"
    return next((cause for code, cause in REFUSED_WRITES.items() if code in text), "")
