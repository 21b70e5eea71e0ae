"""StoreCancel: checks in the record, before every call, that the job is not cancelled or lost."""

from __future__ import annotations

import time

from agents.errors import Stopped
from jobs.store.redis_store import RedisStore
from worker.ledger import Ledger
from worker.store import retry_while_unavailable

FRESH_SECONDS = 0.02
"""A write that was accepted so recently has checked the same."""


class StoreCancel:
    """Implements the port Cancel. The channel of stopped jobs is quicker, but may miss one."""

    def __init__(self, store: RedisStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    async def check(self) -> None:
        """See agents.ports.Cancel."""
        if time.monotonic() - self._ledger.accepted_at < FRESH_SECONDS:
            return
        held = self._ledger.held
        if not await retry_while_unavailable(lambda: self._store.owns(held)):
            raise Stopped(f"job {held.job_id} is no longer this attempt's")
