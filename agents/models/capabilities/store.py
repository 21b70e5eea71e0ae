"""CapabilityStore: the port that keeps the records of models."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from agents.models.capabilities.record import Capabilities


@runtime_checkable
class CapabilityStore(Protocol):
    """Keeps a record by model, `provider:model`. Neither method raises: without its storage it
    keeps records in memory, and a call works as well with an empty record."""

    async def read(self, model: str) -> Capabilities:
        """The record of the model; an empty one if there is none."""
        ...

    async def write(self, model: str, learned: Capabilities) -> None:
        """Add the fields that were learned to the record."""
        ...


class MemoryCapabilities:
    """A CapabilityStore of one process."""

    def __init__(self) -> None:
        self._records: dict[str, Capabilities] = {}

    async def read(self, model: str) -> Capabilities:
        """See CapabilityStore."""
        return self._records.get(model, Capabilities())

    async def write(self, model: str, learned: Capabilities) -> None:
        """See CapabilityStore."""
        known = await self.read(model)
        self._records[model] = known.merged(learned.dated())
