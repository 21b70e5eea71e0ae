"""Limits of callers: wrong keys of an address, requests of a key, and concurrent work of a key.

`RateLimit` counts in the broker's Redis, so that its limit holds for all API processes.
`WrongKeys`, `Slots` and `Turns` count in the memory of one process.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast
from weakref import WeakValueDictionary

import structlog
from limits import parse
from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import Redis
from redis.exceptions import RedisError

from api import problems
from api.problems import ProblemDefinition, RefusedRequest
from jobs.redis.keys import PREFIX

log = structlog.get_logger(__name__)

MAX_REMEMBERED = 10_000
"""Addresses with wrong keys, and pairs of an address and a valid key. The oldest are dropped."""
UNCOUNTED_SECONDS = 5.0
"""Time without counting after Redis did not answer. Otherwise each request would wait for it."""


class WrongKeys:
    """Limits the wrong keys from one address to a rate, such as `30/minute`.

    An address that has reached the limit may not try a new key for some time, because guessing must
    be slow. A key that was valid at this address before still passes, so that other callers at the
    same proxy are not affected. N processes allow N times as many tries, which is still far from
    guessing a key.
    """

    def __init__(self, rate: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = parse(rate)
        self._clock = clock
        self._windows: OrderedDict[str, tuple[float, int]] = OrderedDict()
        """By address: the end of its window, and the number of its wrong keys."""
        self._valid: OrderedDict[tuple[str, str], None] = OrderedDict()

    def begin(self, peer: str, digest: str) -> int:
        """Count a try as wrong until its outcome is known. Returns 0, or the seconds to wait."""
        if (peer, digest) in self._valid:
            return 0
        ends_at, count = self._window(peer)
        if count >= self.rate.amount:
            return max(math.ceil(ends_at - self._clock()), 1)
        self._set_window(peer, ends_at, count + 1)
        if count + 1 == self.rate.amount:
            log.warning("too many wrong keys from one address", peer=peer, limit=str(self.rate))
        return 0

    def forgive(self, peer: str) -> None:
        """Do not count the last try, because the key was valid, or its lookup failed."""
        ends_at, count = self._window(peer)
        if count:
            self._set_window(peer, ends_at, count - 1)

    def add_valid(self, peer: str, digest: str) -> None:
        """Record that the key is valid at this address."""
        if (peer, digest) not in self._valid:
            self.forgive(peer)
        self._valid[peer, digest] = None
        self._valid.move_to_end((peer, digest))
        if len(self._valid) > MAX_REMEMBERED:
            self._valid.popitem(last=False)

    def add_wrong(self, peer: str, digest: str) -> None:
        """Record that the key is wrong. A key that was valid before was revoked: from now on its
        tries count."""
        self._valid.pop((peer, digest), None)

    def _window(self, peer: str) -> tuple[float, int]:
        now = self._clock()
        ends_at, count = self._windows.get(peer, (0.0, 0))
        return (ends_at, count) if now < ends_at else (now + self.rate.get_expiry(), 0)

    def _set_window(self, peer: str, ends_at: float, count: int) -> None:
        self._windows[peer] = (ends_at, count)
        self._windows.move_to_end(peer)
        if len(self._windows) > MAX_REMEMBERED:
            self._windows.popitem(last=False)


class RateLimit:
    """Limits the requests of a key in a sliding window, such as `600/minute`.

    A count may be lost, and needs no write to a disk. If that Redis does not answer, every request
    passes uncounted: accepting and reading jobs does not depend on it. `close` closes `redis`.
    """

    def __init__(self, redis: Redis, rate: str) -> None:
        self.rate = parse(rate)
        # The storage uses this pool, with its time-outs: it never connects to the address.
        storage = RedisStorage(
            "async+redis://shared:0",
            implementation="redispy",
            key_prefix=f"{PREFIX}rate",
            connection_pool=cast("Any", redis.connection_pool),
        )
        self._limiter = SlidingWindowCounterRateLimiter(storage)
        self._redis = redis
        self._uncounted_until = 0.0

    async def wait_seconds(self, key_id: str) -> int:
        """Count a request. Returns 0 if it may pass, else the seconds to wait."""
        if time.monotonic() < self._uncounted_until:
            return 0
        try:
            if await self._limiter.hit(self.rate, key_id):
                return 0
            window = await self._limiter.get_window_stats(self.rate, key_id)
        except (RedisError, OSError) as error:
            log.warning("requests are not counted", error=str(error))
            self._uncounted_until = time.monotonic() + UNCOUNTED_SECONDS
            return 0
        return max(math.ceil(window.reset_time - time.time()), 1)

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()


class Slots:
    """Limits concurrent work: beyond the limit of a key a 429, beyond the limit of all keys a 503.

    `jobs.store.listing` bounds the reads of one search. An event stream holds a connection and some
    memory as long as its reader likes.
    """

    def __init__(
        self,
        key_limit: int,
        total_limit: int,
        key_problem: ProblemDefinition,
        total_problem: ProblemDefinition,
        retry_seconds: int,
    ) -> None:
        self._key_limit = key_limit
        self._total_limit = total_limit
        self._key_problem = key_problem
        self._total_problem = total_problem
        self._headers = {"Retry-After": str(retry_seconds)}
        self._used: Counter[str] = Counter()

    @contextlib.contextmanager
    def slot(self, key_id: str) -> Iterator[None]:
        """Hold a slot within the block. Raises RefusedRequest: 429, 503."""
        self.check(key_id)
        with self.hold(key_id):
            yield

    def check(self, key_id: str) -> None:
        """Raise RefusedRequest, 429 or 503, if no slot is free."""
        if self._used[key_id] >= self._key_limit:
            detail = f"the key has reached its limit of {self._key_limit}"
            raise RefusedRequest(
                self._key_problem, detail, {"limit": self._key_limit}, self._headers
            )
        if self._used.total() >= self._total_limit:
            detail = f"this process has reached its limit of {self._total_limit}"
            raise RefusedRequest(
                self._total_problem, detail, {"limit": self._total_limit}, self._headers
            )

    @contextlib.contextmanager
    def hold(self, key_id: str) -> Iterator[None]:
        """Hold a slot within the block without a check: `check` came before the answer began."""
        self._used[key_id] += 1
        try:
            yield
        finally:
            self._used -= Counter({key_id: 1})  # the subtraction drops keys without a slot


class Turns:
    """Limits concurrent uploads, which hold their files in memory: beyond the limit of a key, or of
    all keys, a request waits."""

    def __init__(self, key_limit: int, total_limit: int) -> None:
        self._key_limit, self._total = key_limit, asyncio.Semaphore(total_limit)
        self._keys: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    @contextlib.asynccontextmanager
    async def turn(self, key_id: str) -> AsyncIterator[None]:
        """Hold a turn within the block. A key waits for its own turns first, so that its slow
        uploads do not block the uploads of others."""
        key_turns = self._keys.setdefault(key_id, asyncio.Semaphore(self._key_limit))
        async with key_turns, self._total:
            yield


def search_slots() -> Slots:
    """Slots of lists with a text, with `waiting`, or with two filters."""
    return Slots(4, 16, problems.TOO_MANY_SEARCHES, problems.SEARCHES_BUSY, 1)


def stream_slots() -> Slots:
    """Slots of open event streams."""
    return Slots(500, 2_000, problems.TOO_MANY_STREAMS, problems.STREAMS_BUSY, 10)


def upload_turns() -> Turns:
    """Turns of bodies with files of any kind."""
    return Turns(2, 8)
