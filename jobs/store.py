"""Store: the port to where jobs are kept. Two forms pass one contract suite: Redis and memory.

A store compares and writes; it decides nothing. Every write is one atomic step: a record with its
index, its events and its place in its conversation's line (J3), or nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, Unpack

from jobs.admission import Load
from jobs.blob_index import BlobIndex
from jobs.budgets import Budgets, Spent, billionths
from jobs.decisions import Decisions
from jobs.events import Event, NewEvent
from jobs.graph_format import GraphFormat
from jobs.lifecycle import Change
from jobs.numbers import Numbers
from jobs.outbox import Outbox
from jobs.record import JobRecord, Status
from jobs.sought import SoughtFields
from jobs.spec import Priority
from jobs.tokens import Tokens
from jobs.turns import Turns

TURNS_KEPT = 20
"""How many finished jobs a conversation remembers."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A record and the store's time (ms) when it was read."""

    record: JobRecord
    now: int


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A caller's key, and the digest of the body it came with (J2)."""

    key: str
    body_digest: str


@dataclass(frozen=True, slots=True)
class Existing:
    """The job that an idempotency key already stands for, and the digest of that body."""

    job_id: str
    body_digest: str


@dataclass(frozen=True, slots=True)
class Charge:
    """What one model call cost. Posted once per `call`, whatever the epoch (J5).

    `cost_usd` is a decimal string, or None where no price is known; `cached_input_tokens` are a
    part of `input_tokens`. `reservation` is settled by it, and not kept.
    """

    call: str
    role: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: str | None
    cached_input_tokens: int = 0
    reservation: str | None = None

    @property
    def spent(self) -> Spent:
        """What it takes of a budget. A reply always has tokens: none told is none known."""
        tokens = self.input_tokens + self.output_tokens
        cost = None if self.cost_usd is None else billionths(self.cost_usd)
        return Spent(cost, tokens or None)


@dataclass(frozen=True, slots=True)
class Writes:
    """What an attempt puts on record in one fenced step.

    `journal` maps a call's key to its finished outcome; `workspace` is the manifest digest that
    the call left ('': no files); `graph` the format of the job's checkpoints; `commands` are Redis
    commands of these (Redis alone); `blobs` the digests of bytes that these writes name, which are
    kept as long as the job. `progress` is False where they keep nothing that a crash would have to
    repeat, such as a Decision that is fed to the graph: without it, a job that kills its workers
    would seem to get on (J7).
    """

    events: Sequence[NewEvent] = ()
    journal: Mapping[str, bytes] = field(default_factory=dict)
    charges: Sequence[Charge] = ()
    workspace: str | None = None
    graph: GraphFormat | None = None
    commands: Sequence[tuple[str | bytes | int | float, ...]] = ()
    blobs: Sequence[str] = ()
    progress: bool = True


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished job of a conversation, newest first in `Store.conversation`."""

    job_id: str
    task: str
    summary: str
    workspace: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing, with the size of the whole, and what was paid for each job by its id.

    Where `exact` is false, a search has ended before it had counted all: there are `total` at
    least, and more than the page holds if it says so.
    """

    records: Sequence[JobRecord]
    total: int
    charges: Mapping[str, Sequence[Charge]] = field(default_factory=dict)
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that a worker believes to hold."""

    job_id: str
    epoch: int


class Store(Protocol):
    """Where jobs are kept. Raises StoreUnavailable when it cannot be reached in time."""

    @property
    def blobs(self) -> BlobIndex:
        """Which bytes are in use."""

    @property
    def numbers(self) -> Numbers:
        """What jobs add up to."""

    @property
    def decisions(self) -> Decisions:
        """Who decided what."""

    @property
    def outbox(self) -> Outbox:
        """What a webhook has to be told."""

    @property
    def budgets(self) -> Budgets:
        """What jobs and keys may spend."""

    @property
    def tokens(self) -> Tokens:
        """What models say right now."""

    @property
    def turns(self) -> Turns:
        """What one worker of the fleet does for all."""

    async def now(self) -> int:
        """The store's clock in ms: the only clock that decides anything."""

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
    ) -> Existing | None:
        """Put a new job on record, at the end of its conversation's line; None when it was new.

        A job that is not the first of its line is not due before its turn comes.

        It refers to the bytes of `blobs` and of `parent` from then on, and takes over the parent's
        journal where `inherits` names it. Raises Contended where its id is taken, or the parent
        has gone meanwhile.
        """

    async def known(self, tenant: str, key: str) -> Existing | None:
        """What an idempotency key stands for: for as long as its job is kept."""

    async def load(self, job_id: str) -> Loaded | None:
        """The record as it stands, or None."""

    async def commit(
        self, before: JobRecord, change: Change, *, turn: Turn | None = None, first: bool = False
    ) -> bool:
        """Replace `before` by `change.after` if its version, `due_at` and `progress_epoch` stand.

        A crash counts by whether its attempt got on (J7): progress that is written between the
        look and the commit has the sweeper look again.

        `turn` is added to the conversation; `first` demands that the job is at the head of its
        conversation's line. False: something moved, nothing was written. A final record leaves
        the line, and the next in it becomes due.
        """

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """Apply an attempt's writes; StaleEpoch if `epoch` is old or the job is not running.

        Charges are kept even then.
        """

    async def owns(self, held: Held) -> bool:
        """Whether the job is running and of this epoch: asked before each call (J11)."""

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Post what was paid, whatever the epoch; a known call id is not posted again, nor anything
        of a job that is gone."""

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """Everything that was paid for a job."""

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """The finished calls of a job by key."""

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """The events whose number is above `after`; the first `limit` of them."""

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """The next few events above `after`, after up to `seconds`; empty when none came. Few: a
        reader far behind is not handed all that he lacks at once."""

    def stops(self) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """A queue of ids of jobs that are cancelled from now on: a nudge, not the truth. An empty
        id says that some may have been missed."""

    async def due(self, limit: int) -> Sequence[str]:
        """Ids of jobs whose time has come: to be hinted, or whose lease ran out."""

    async def overdue(self, limit: int) -> Sequence[str]:
        """Ids of jobs whose review has expired, and has not been told to have."""

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """Ids of final jobs that ended before `before` (ms), the oldest first."""

    async def remove(self, record: JobRecord) -> bool:
        """Remove a final job with all that is kept of it: its checkpoints first, in bounded steps,
        then the rest in one.

        Its bytes are not removed: it refers to them no longer. False: it is gone already.
        """

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """The job at the head of a conversation's line."""

    async def conversation(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """The last `limit` finished turns, newest first."""

    async def page(
        self, tenant: str, *, limit: int, offset: int, **sought: Unpack[SoughtFields]
    ) -> Page:
        """A tenant's jobs, newest first; `text` is searched for (see jobs.words); `waits_for`: what
        waits for this person's decision, oldest first."""

    async def changes(self, tenant: str) -> int:
        """How often a tenant's jobs have come, changed or gone: while it is the same, so is a page
        of them, but for what was paid. A count of an older release's writers stands still."""

    async def counts(self) -> Mapping[Status, int]:
        """How many jobs stand in each status, over all tenants."""

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """How many of a tenant's jobs stand in each status."""

    async def queue_depth(self) -> Mapping[Priority, int]:
        """How many jobs wait for a worker in each priority, over all tenants. What waits for
        another job of its conversation is left out."""

    async def load_now(self, tenant: str) -> Load:
        """How full the store is for a tenant."""

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        """Prolong leases in one step; returns those that are lost."""

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """Publish what a worker is and can do; forgotten after `seconds` without another. Whether
        somebody has asked it to drain."""

    async def withdraw(self, worker: str) -> None:
        """Forget a worker that says goodbye."""

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """What the workers that were seen lately have announced, with `id` and `seen_at`."""

    async def close(self) -> None:
        """Give back connections."""
