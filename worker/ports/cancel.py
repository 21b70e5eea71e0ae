"""StoreCancel: asks the record, before every call, whether the job is still wanted and ours."""

from __future__ import annotations

from agents.errors import Stopped
from jobs.store import Held, Store


class StoreCancel:
    """Implements the port Cancel. A read costs no sync to disk, so it is made before each call."""

    def __init__(self, store: Store, held: Held) -> None:
        self._store = store
        self._held = held

    async def check(self) -> None:
        """See agents.ports.Cancel."""
        if not await self._store.owns(self._held):
            raise Stopped(f"job {self._held.job_id} is no longer this attempt's")
