"""Connections to Redis that break at a bad moment count as an outage of Redis, never as a failure
of a job.
"""

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
def test_a_reset_connection_is_an_outage_of_redis(
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


def test_a_refused_write_is_reported_as_unavailable() -> None:
    async def away() -> None:
        client = connect("redis://127.0.0.1:1/0")
        with pytest.raises(StoreUnavailable):
            await await_redis(client.ping())
        await client.aclose()

    asyncio.run(away())
