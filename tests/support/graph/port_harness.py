"""The operations that the contract tests need for each kind of port.

Add a new kind of port to `Harness`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, field
from decimal import Decimal
from typing import Any

from agents.graph.memory_ports import (
    MemoryBudget,
    MemoryCancel,
    MemoryEvents,
    MemoryJournal,
    MemoryMessages,
    MemoryRecord,
    MemoryWorkspace,
)
from agents.ports import Cancel, Charge, Events, Journal, Workspace
from agents.ports.messages import UserMessage, UserMessages
from agents.ports.spending import Budget
from jobs import store as jobs_store
from jobs.audit.entries import Actor
from jobs.blobs.directory import Blobs
from jobs.budgets import Cap, billionths
from jobs.model.record import Cause, JobRecord
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from jobs.store.credentials import Credentials
from jobs.store.redis_store import RedisStore
from jobs.transitions.lifecycle import Policy
from worker.adapters.budget import AccountBudget, CachedDayLimits
from worker.adapters.workspace import ManifestWorkspace
from worker.ledger import AttemptWriter, Ledger, RecordCheck
from worker.store import Patience


def _cap(tokens: int | None, dollars: str | None) -> Cap:
    return Cap(None if dollars is None else billionths(dollars), tokens)


OF_THE_JOB = {"submitted", "started", "given_back", "lease_lost", "message_added", "cancelled"}
"""The events of a job's lifecycle, which the graph does not emit."""


@dataclass(frozen=True)
class Held:
    """The ports of one attempt."""

    journal: Journal
    events: Events
    budget: Budget
    cancel: Cancel
    messages: UserMessages
    workspace: Workspace


@dataclass
class MemoryHarness:
    """One job in memory."""

    record: MemoryRecord = field(default_factory=MemoryRecord)
    switch: MemoryCancel = field(default_factory=MemoryCancel)

    async def attempt(self, most_tokens: int | None = None, most_usd: str | None = None) -> Held:
        """Start a new attempt at the job; the previous attempt is dead."""
        return Held(
            MemoryJournal(self.record),
            MemoryEvents(self.record),
            MemoryBudget(self.record, most_tokens, Decimal(most_usd) if most_usd else None),
            self.switch,
            MemoryMessages(self.record),
            MemoryWorkspace(self.record),
        )

    async def events(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        return [(event.kind, event.data) for event in self.record.events.values()]

    async def charges(self) -> Sequence[Charge]:
        return list(self.record.charges.values())

    async def send(self, text: str) -> None:
        number = len(self.record.messages) + 1
        self.record.messages.append(UserMessage(number, "ann", text))

    async def cancel(self) -> None:
        self.switch.cancelled = True


@dataclass
class StoreHarness:
    """The harness of the worker's ports, over a store."""

    operations: Operations
    blobs: Blobs
    job_id: str

    @classmethod
    async def over(cls, store: RedisStore, blobs: Blobs) -> StoreHarness:
        operations = Operations(store, lambda *_: None, Policy(lease_ms=60_000))
        submitted = await operations.submit("default", JobSpec("count"), by="test")
        assert isinstance(submitted, Submission)
        return cls(operations, blobs, submitted.record.id)

    async def attempt(self, most_tokens: int | None = None, most_usd: str | None = None) -> Held:
        record = await self._claimed()
        store = self.operations.store
        unlimited = CachedDayLimits(Credentials(store.redis), Patience(30), Cap(), Cap())
        charges = await store.charges(self.job_id)
        tokens = sum(charge.input_tokens + charge.output_tokens for charge in charges)
        lease = jobs_store.LeaseRef(self.job_id, record.epoch)
        writer = AttemptWriter(store, lease, Patience(30))
        check = RecordCheck(store, writer)
        ledger = Ledger(writer, await store.journal(self.job_id), tokens)
        return Held(
            ledger,
            ledger,
            AccountBudget(store, ledger, _cap(most_tokens, most_usd), "", "acme", unlimited),
            check,
            check,
            await ManifestWorkspace.open(self.blobs, record.workspace),
        )

    async def events(self) -> Sequence[tuple[str, Mapping[str, Any]]]:
        events = await self.operations.store.events(self.job_id)
        return [(event.kind, event.data) for event in events if event.kind not in OF_THE_JOB]

    async def charges(self) -> Sequence[Charge]:
        charges = await self.operations.store.charges(self.job_id)
        return [Charge(*astuple(charge)) for charge in charges]

    async def send(self, text: str) -> None:
        sent = await self.operations.add_message(self.job_id, text, Actor("ann"))
        assert isinstance(sent, Submission)

    async def cancel(self) -> None:
        await self.operations.cancel(self.job_id, "ann")

    async def _claimed(self) -> JobRecord:
        """Claim the job for a new attempt. The previous attempt first returns the job with its
        results.
        """
        loaded = await self.operations.store.load(self.job_id)
        assert loaded is not None
        if loaded.record.lease is not None:
            lease = jobs_store.LeaseRef(self.job_id, loaded.record.epoch)
            await self.operations.requeue(lease, "the test has another attempt", Cause.STOPPING)
        claimed = await self.operations.claim(self.job_id, "worker-1")
        assert isinstance(claimed, JobRecord), claimed
        return claimed


Harness = MemoryHarness | StoreHarness
