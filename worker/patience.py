"""Patience: a Redis that is away for a moment (a restart, a failover) costs no attempt."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from jobs.errors import StoreUnavailable
from jobs.store.blob_index import Holding

PATIENCE_SECONDS = 30.0
AGAIN_SECONDS = 0.25

T = TypeVar("T")


async def patient(call: Callable[[], Awaitable[T]], seconds: float = PATIENCE_SECONDS) -> T:
    """The answer of `call`, which may be made more than once; raises StoreUnavailable in the end.

    An earlier try may have been applied although its answer was lost: only for what is fenced and
    may be said twice.
    """
    ends = time.monotonic() + seconds
    while True:
        try:
            return await call()
        except StoreUnavailable:
            if time.monotonic() >= ends:
                raise
        await asyncio.sleep(AGAIN_SECONDS)


@dataclass(frozen=True, slots=True)
class PatientHolding:
    """Holds what a run has left, which would else be made once more."""

    index: Holding
    seconds: float

    async def hold(self, digests: Sequence[str]) -> Sequence[str]:
        """See Holding."""
        return await patient(lambda: self.index.hold(digests), self.seconds)
