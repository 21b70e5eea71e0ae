"""Connections to Redis that end at a bad moment are Redis' trouble, never a job's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
import redis.exceptions
import uvloop
from redis.asyncio.connection import AbstractConnection

from jobs.errors import StoreUnavailable
from jobs.redis.connection import await_redis, connect


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_connection_that_was_reset_is_redis_being_away(
    redis_url: str, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    async def reset_before_the_send() -> None:
        client = connect(redis_url)
        connection = await client.connection_pool.get_connection()
        connection._writer.transport.abort()
        with pytest.raises(redis.exceptions.ConnectionError):
            await ping(connection)
        assert not connection.is_connected
        await client.connection_pool.release(connection)
        assert await client.ping()
        await client.aclose()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(reset_before_the_send())


async def ping(connection: AbstractConnection) -> None:
    await connection.send_command("PING")
    await connection.read_response()


def test_what_redis_refuses_to_take_is_said_as_unavailable() -> None:
    async def away() -> None:
        client = connect("redis://127.0.0.1:1/0")
        with pytest.raises(StoreUnavailable):
            await await_redis(client.ping())
        await client.aclose()

    asyncio.run(away())
