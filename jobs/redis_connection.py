"""How this house connects to Redis."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as Unreachable
from redis.exceptions import ResponseError

ANSWER_SECONDS = 2.0
"""How long an answer of Redis may take, unless told otherwise."""


def connect(url: str, *, seconds: float = ANSWER_SECONDS) -> Redis:
    """A client that gives up after `seconds` instead of hanging.

    It never sends a command twice: a commit whose answer was lost would fail its own guard, and
    tell a caller that his decision did not apply. A connection that died while it was idle is
    noticed and replaced before it is used. Answers stay bytes: checkpoints are not text.
    """
    # Protocol 2: on 3, redis-py listens for maintenance notifications, for which it gives up
    # looking whether an idle connection has died (8.1: ConnectionPool.ensure_connection).
    pool = ConnectionPool.from_url(
        url,
        socket_timeout=seconds,
        socket_connect_timeout=seconds,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
        health_check_interval=30,
        max_connections=1_000,
    )
    pool.connection_class = _cancellable(pool.connection_class)
    return Redis.from_pool(pool)


def _cancellable(kind: type[AbstractConnection]) -> type[AbstractConnection]:
    """`kind`, but whoever waits for it can be cancelled, and one that is closed says so.

    redis-py sends within `asyncio.wait_for`, which before Python 3.12 swallows a cancellation that
    comes as the send ends: a cancelled attempt would go on, and a deadline pass unheard.

    uvloop raises RuntimeError where a connection was reset just before the send, and redis-py
    lets that through: a job would fail for what the next try mends.

    A Redis whose disk is full refuses even PING (MISCONF), which redis-py asks before a connection
    is used: whoever refuses is there, and can be read.
    """

    class Cancellable(kind):  # type: ignore[misc, valid-type]
        socket_timeout: float | None

        async def send_packed_command(self, command: Any, check_health: bool = True) -> None:
            seconds = self.socket_timeout
            self.socket_timeout = None  # which makes redis-py do without `wait_for`
            try:
                async with asyncio.timeout(seconds):
                    await super().send_packed_command(command, check_health)
            except RuntimeError as error:
                raise Unreachable(f"the connection was closed: {error}") from error
            finally:
                self.socket_timeout = seconds

        async def _send_ping(self) -> None:
            with contextlib.suppress(ResponseError):
                await super()._send_ping()

    return Cancellable
