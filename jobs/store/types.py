"""What goes into the store and comes out of it, beside records and events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobs.budgets import Spent, billionths
from jobs.model.events import NewEvent
from jobs.model.record import GraphFormat, JobRecord
from jobs.redis.connection import RedisCommand

ENTRIES_KEPT = 20
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

    `cost_usd` is a decimal string, or None if the price is unknown or the usage was not reported;
    `cached_input_tokens` are a part of `input_tokens`. `reservation` is settled by it, and not
    kept.
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
    def is_unreported(self) -> bool:
        """Whether the provider reported no usage. A reply always has tokens."""
        return self.cost_usd is None and not (self.input_tokens or self.output_tokens)

    @property
    def is_unpriced(self) -> bool:
        """Whether the usage is known, but not its price."""
        return self.cost_usd is None and not self.is_unreported

    @property
    def spent(self) -> Spent:
        """What it takes of a budget. A reply always has tokens: 0 means that none are known."""
        tokens = self.input_tokens + self.output_tokens
        cost = None if self.cost_usd is None else billionths(self.cost_usd)
        return Spent(cost, tokens or None)


@dataclass(frozen=True, slots=True)
class Writes:
    """What an attempt puts on record in one fenced step.

    `journal` maps a call's key to its finished outcome; `workspace` is the manifest digest that
    the call left ('': no files); `graph` the format of the job's checkpoints; `commands` are Redis
    commands of these; `blobs` the digests of bytes that these writes name, which are
    kept as long as the job. Only finished calls are progress: a checkpoint alone may hold what is
    tried again, and a job that kills its workers would seem to get on (J7).
    """

    events: Sequence[NewEvent] = ()
    journal: Mapping[str, bytes] = field(default_factory=dict)
    charges: Sequence[Charge] = ()
    workspace: str | None = None
    graph: GraphFormat | None = None
    commands: Sequence[RedisCommand] = ()
    blobs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """One finished job of a conversation, newest first in `RedisStore.conversation`."""

    job_id: str
    task: str
    summary: str
    workspace: str | None


@dataclass(frozen=True, slots=True)
class JobPage:
    """A part of a listing, with the size of the whole, and what was paid for each job by its id.

    Where `exact` is false, a search has ended before it had counted all: there are `total` at
    least, and more than the page holds if it says so.
    """

    records: Sequence[JobRecord]
    total: int
    charges: Mapping[str, Sequence[Charge]] = field(default_factory=dict)
    is_exact: bool = True


@dataclass(frozen=True, slots=True)
class LeaseRef:
    """A lease that a worker believes it holds."""

    job_id: str
    epoch: int
