"""The one place where redis' errors become ours."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import TypeVar

from redis.exceptions import RedisError

from jobs.errors import StoreFull, StoreRefused, StoreUnavailable
from jobs.redis_full import is_full, why_no_writes

T = TypeVar("T")


@contextlib.asynccontextmanager
async def reaching() -> AsyncIterator[None]:
    """Raise StoreUnavailable for whatever keeps Redis from answering within the block, StoreRefused
    where it answers that it takes no writes, StoreFull where it is full.
    """
    try:
        yield
    except (RedisError, OSError) as error:
        if isinstance(error, RedisError) and is_full(error):
            raise StoreFull(f"Redis is full: {error}") from error
        if isinstance(error, RedisError) and (why := why_no_writes(error)):
            raise StoreRefused(f"Redis takes no writes, {why}: {error}", why) from error
        raise StoreUnavailable(f"Redis did not answer: {error}") from error


async def reached(call: Awaitable[T]) -> T:
    """The answer to one call; raises StoreUnavailable."""
    async with reaching():
        return await call


def texts(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    """A hash as Redis gives it, in text."""
    return {key.decode(): value.decode() for key, value in fields.items()}
