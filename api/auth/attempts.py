"""Attempts: wrong keys, counted by client address in one API process.

An address with too many wrong keys may try no other for a while. A key that was valid at this
address before still passes, so that other callers at the same proxy are not affected. A key that
is new there waits, since guessing must be slowed. The counts are kept in memory: N processes allow
N times as many tries, which is still far from guessing a key.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable

import structlog
from limits import parse

log = structlog.get_logger(__name__)

MOST_REMEMBERED = 10_000
"""Addresses, and keys that were valid at one; the oldest are dropped."""


class Attempts:
    """Limits wrong keys from one address to a rate, such as `30/minute`."""

    def __init__(self, rate: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = parse(rate)
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._good: OrderedDict[tuple[str, str], None] = OrderedDict()

    def begin(self, peer: str, digest: str) -> int:
        """Count a try as wrong until its outcome is known. Returns 0, or the seconds to wait."""
        if (peer, digest) in self._good:
            return 0
        ends, count = self._window(peer)
        if count >= self.rate.amount:
            return max(math.ceil(ends - self._clock()), 1)
        self._set(peer, ends, count + 1)
        if count + 1 == self.rate.amount:
            log.warning("too many wrong keys from one address", peer=peer, limit=str(self.rate))
        return 0

    def forgive(self, peer: str) -> None:
        """Take back a counted try: the key was valid, or the lookup failed."""
        ends, count = self._window(peer)
        if count:
            self._set(peer, ends, count - 1)

    def good(self, peer: str, digest: str) -> None:
        """The key is valid."""
        if (peer, digest) not in self._good:
            self.forgive(peer)
        self._good[peer, digest] = None
        self._good.move_to_end((peer, digest))
        if len(self._good) > MOST_REMEMBERED:
            self._good.popitem(last=False)

    def wrong(self, peer: str, digest: str) -> None:
        """The key is wrong. If it was valid before, it was revoked, and counts from now on."""
        self._good.pop((peer, digest), None)

    def _window(self, peer: str) -> tuple[float, int]:
        now = self._clock()
        ends, count = self._wrong.get(peer, (0.0, 0))
        return (ends, count) if now < ends else (now + self.rate.get_expiry(), 0)

    def _set(self, peer: str, ends: float, count: int) -> None:
        self._wrong[peer] = (ends, count)
        self._wrong.move_to_end(peer)
        if len(self._wrong) > MOST_REMEMBERED:
            self._wrong.popitem(last=False)
