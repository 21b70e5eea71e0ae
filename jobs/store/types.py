"""Arguments and results of the store, in addition to records and events."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jobs.budgets import Spent, billionths
from jobs.model.events import NewEvent
from jobs.model.record import Continuation, GraphFormat, JobRecord
from jobs.redis.connection import RedisCommand

ENTRIES_KEPT = 20
"""The finished jobs that a conversation remembers."""
_CURSOR = re.compile(rb"(\d{1,15}) ([0-9a-f]{20}(?::\d{1,9})?) (\d{1,10})")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A record, and the time at which it was read."""

    record: JobRecord
    now: int
    """Redis' time in ms at the read."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A position in a listing: a row, also if it has left the listing since. The rows after it are
    the same while new rows arrive before it."""

    at: int
    """The time in ms by which the listing is sorted."""
    id: str
    """A job's id, or a decision as `job:number`."""
    count: int
    """The number of rows up to this position when it was read."""

    def __str__(self) -> str:
        """The cursor as clients send it back."""
        return b64encode(f"{self.at} {self.id} {self.count}".encode(), b"-_").decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """The cursor that `str` made. Raises ValueError."""
        content = b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
        if (match := _CURSOR.fullmatch(content)) is None:
            raise ValueError("not a cursor")
        at, row_id, count = (part.decode() for part in match.groups())
        return cls(int(at), row_id, int(count))


@dataclass(frozen=True, slots=True)
class Idempotency:
    """The idempotency key of a request (J2)."""

    key: str
    body_digest: str
    """The digest of the request's body."""


@dataclass(frozen=True, slots=True)
class Existing:
    """The job that an idempotency key names already."""

    job_id: str
    body_digest: str
    """The digest of the body of its request."""


@dataclass(frozen=True, slots=True)
class Charge:
    """The cost of one model call. Posted once per `call`, under any epoch (J5)."""

    call: str
    """The id of the call."""
    role: str
    """The role that called, such as `planner`."""
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: str | None
    """A decimal string. None: the price is unknown, or the usage was not reported."""
    cached_input_tokens: int = 0
    """The part of `input_tokens` that the provider read from its cache."""
    reservation: str | None = None
    """The reservation that the charge settles. It is not stored."""

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
        """The amount in a budget. A reply always has tokens: 0 means that their number is
        unknown."""
        tokens = self.input_tokens + self.output_tokens
        cost = None if self.cost_usd is None else billionths(self.cost_usd)
        return Spent(cost, tokens or None)


@dataclass(frozen=True, slots=True)
class Writes:
    """The writes of an attempt, in one fenced step.

    Only finished calls are progress. A checkpoint without a finished call may have a call that is
    tried again, and a job that kills its workers would seem to make progress (J7).
    """

    events: Sequence[NewEvent] = ()
    journal: Mapping[str, bytes] = field(default_factory=dict)
    """The outcomes of finished calls, by key."""
    charges: Sequence[Charge] = ()
    workspace: str | None = None
    """The digest of the manifest that the call left. '': no files. None: unchanged."""
    continues: Continuation | None = None
    """The start of the job on an earlier change of its repository. None: unchanged."""
    start: str | None = None
    """See `JobRecord.start`. None: unchanged."""
    graph: GraphFormat | None = None
    """The format of the job's checkpoints. None: unchanged."""
    commands: Sequence[RedisCommand] = ()
    """The commands that write checkpoints."""
    blobs: Sequence[str] = ()
    """The digests of bytes that these writes name. They are kept as long as the job."""


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    """One finished job of a conversation."""

    job_id: str
    task: str
    summary: str
    workspace: str | None
    """The digest of the manifest of its files. None: no files."""


@dataclass(frozen=True, slots=True)
class JobPage:
    """A part of a listing."""

    records: Sequence[JobRecord]
    total: int
    """The number of jobs in the full listing."""
    charges: Mapping[str, Sequence[Charge]] = field(default_factory=dict)
    """The charges of each job, by its id."""
    is_exact: bool = True
    """False: a search ended before it had counted all jobs. `total` is a minimum, and it is higher
    than the number of listed jobs if there are more."""
    next: Cursor | None = None
    """The position after which the next page begins. None: this page is the last."""


@dataclass(frozen=True, slots=True)
class LeaseRef:
    """A lease that a worker believes that it has."""

    job_id: str
    epoch: int
