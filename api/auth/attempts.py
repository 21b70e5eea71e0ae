"""Attempts: wrong keys, counted by the address that they come from, in one API process.

An address that has brought too many may try no other for a while. A key that was good from this
address before is not held up, so that others at the same proxy go on; one that is new there waits
with the rest, or guessing would not be slowed at all. Nothing is written for it: N processes let
N times as many tries pass, which is as far from guessing a key.
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
"""Addresses, and keys that were good from one; the oldest are forgotten."""


class Attempts:
    """So many wrong keys in a time, such as `30/minute`, from one address."""

    def __init__(self, rate: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = parse(rate)
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, int]] = OrderedDict()
        self._good: OrderedDict[tuple[str, str], None] = OrderedDict()

    def begin(self, peer: str, digest: str) -> int:
        """Count a try as wrong until it is known not to be; seconds to wait where it may not be
        made, else 0."""
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
        """A try that was counted was not wrong, or nobody knows."""
        ends, count = self._window(peer)
        if count:
            self._set(peer, ends, count - 1)

    def good(self, peer: str, digest: str) -> None:
        """The key is good."""
        if (peer, digest) not in self._good:
            self.forgive(peer)
        self._good[peer, digest] = None
        self._good.move_to_end((peer, digest))
        if len(self._good) > MOST_REMEMBERED:
            self._good.popitem(last=False)

    def wrong(self, peer: str, digest: str) -> None:
        """The key is wrong; if it was good before, it was revoked, and counts from now on."""
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
