"""StoreCancel: asks the record, before a call is made, whether the job is still wanted and ours."""

from __future__ import annotations

import time

from agents.errors import Stopped
from jobs.store import Store
from worker.ledger import Ledger
from worker.patience import patient

FRESH_SECONDS = 0.02
"""Nothing is asked that a write, or a check, has found out so lately."""


class StoreCancel:
    """Implements the port Cancel. The channel of stopped jobs is quicker, but may miss one."""

    def __init__(self, store: Store, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger
        self._owned_at = float("-inf")

    async def check(self) -> None:
        """See agents.ports.Cancel."""
        asked = time.monotonic()
        if asked - max(self._ledger.accepted_at, self._owned_at) < FRESH_SECONDS:
            return
        held = self._ledger.held
        if not await patient(lambda: self._store.owns(held)):
            raise Stopped(f"job {held.job_id} is no longer this attempt's")
        self._owned_at = asked
