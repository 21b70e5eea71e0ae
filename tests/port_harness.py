"""What the contract tests of the ports need of each kind of port. Add a kind to HARNESSES."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agents.memory import (
    MemoryBudget,
    MemoryCancel,
    MemoryEvents,
    MemoryJournal,
    MemoryRecord,
    MemoryWorkspace,
)
from agents.ports import Budget, Cancel, Charge, Events, Journal, Workspace


@dataclass(frozen=True)
class Held:
    """The ports of one attempt."""

    journal: Journal
    events: Events
    budget: Budget
    cancel: Cancel
    workspace: Workspace


class Harness(Protocol):
    """One job on record."""

    async def attempt(self, most_tokens: int = 1_000_000) -> Held:
        """A new attempt at the job; the one before it is dead."""
        ...

    async def facts(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Kind and data of the facts on record, in order, without those of the job's own life."""
        ...

    async def charges(self) -> Sequence[Charge]:
        """The charges on record."""
        ...

    async def cancel(self) -> None:
        """Somebody cancels the job."""
        ...


@dataclass
class MemoryHarness:
    """Implements Harness in memory."""

    record: MemoryRecord = field(default_factory=MemoryRecord)
    switch: MemoryCancel = field(default_factory=MemoryCancel)

    async def attempt(self, most_tokens: int = 1_000_000) -> Held:
        return Held(
            MemoryJournal(self.record),
            MemoryEvents(self.record),
            MemoryBudget(self.record, most_tokens),
            self.switch,
            MemoryWorkspace(self.record),
        )

    async def facts(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        return [(fact.kind, fact.data) for fact in self.record.facts.values()]

    async def charges(self) -> Sequence[Charge]:
        return list(self.record.charges.values())

    async def cancel(self) -> None:
        self.switch.cancelled = True


@asynccontextmanager
async def memory() -> AsyncIterator[Harness]:
    """The in-memory twins."""
    yield MemoryHarness()


HARNESSES: dict[str, Callable[[], AbstractAsyncContextManager[Harness]]] = {"memory": memory}
