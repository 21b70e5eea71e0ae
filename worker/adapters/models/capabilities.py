"""RedisCapabilities: the workers share the records of models' servers."""

from __future__ import annotations

import time

import structlog

from agents.models.capabilities.record import Capabilities
from jobs.errors import JobsError
from jobs.store.fleet import CapabilityRecords

FRESH_SECONDS = 30.0
"""How long a process uses the records that it has read."""

log = structlog.get_logger("worker.adapters.models.capabilities")


class RedisCapabilities:
    """Implements agents.models.capabilities.record.CapabilityStore.

    A process reads all records at most every FRESH_SECONDS. It keeps them, and all that it learns
    itself, in memory: while Redis is away, no call waits for it a second time or fails.
    """

    def __init__(self, records: CapabilityRecords) -> None:
        self._records = records
        self._known: dict[str, Capabilities] = {}
        self._read_at = float("-inf")

    async def read(self, model: str) -> Capabilities:
        """See CapabilityStore."""
        if time.monotonic() - self._read_at > FRESH_SECONDS:
            self._read_at = time.monotonic()
            await self._refresh()
        return self._known.get(model, Capabilities())

    async def write(self, model: str, learned: Capabilities) -> None:
        """See CapabilityStore."""
        await self._refresh()
        record = self._known.get(model, Capabilities()).merged(learned.dated())
        self._known[model] = record
        fields = record.model_dump(mode="json", exclude_defaults=True)
        log.info("learned what a model's server accepts", model=model, record=fields)
        try:
            await self._records.put(model, record.model_dump_json(exclude_defaults=True))
        except JobsError as error:
            log.warning("capabilities not stored", model=model, why=str(error))

    async def _refresh(self) -> None:
        """Read all records; those that no longer count are removed."""
        try:
            texts = await self._records.all()
            known = {model: Capabilities.parse(text) for model, text in texts.items()}
            for model, record in known.items():
                if record == Capabilities():
                    await self._records.remove(model)
            self._known = known
        except JobsError as error:
            log.warning("capabilities not read", why=str(error))
