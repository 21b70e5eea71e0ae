"""JobRecord: the truth about one job. Frozen; a change is a new record.

Times are milliseconds since the epoch by Redis' clock; ids are strings; money is a decimal string.

Why: docs/decisions/0005-every-job-has-a-conversation.md
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from jobs.model.credentials import Signer
from jobs.model.review import Decision, Review
from jobs.model.spec import JobSpec, Kind

_JOB_ID = re.compile(r"[0-9a-f]{20}")


def new_job_id() -> str:
    """A random id."""
    return secrets.token_hex(10)


def is_job_id(value: object) -> bool:
    """Whether a value from outside has the form of a job's id, so that it names no other key."""
    return isinstance(value, str) and _JOB_ID.fullmatch(value) is not None


class Status(StrEnum):
    """Where a job is in its life; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether nothing can change any more (J6)."""
        return self in (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)


class Cause(StrEnum):
    """Why a worker gave a job back: a closed set, by which such attempts are counted."""

    PROVIDER = "provider"
    SANDBOX = "sandbox"
    STORAGE = "storage"
    REDIS = "redis"
    REPOSITORY = "repository"
    PACKAGES = "packages"
    MACHINE = "machine"
    """An error of the worker's operating system, other than a disk's."""
    STOPPING = "stopping"
    """The worker drains."""


class Reason(StrEnum):
    """Why a job failed: a closed set."""

    MODEL_UNAVAILABLE = "model_unavailable"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    BUDGET_EXHAUSTED = "budget_exhausted"
    DEADLINE = "deadline"
    POISONED = "poisoned"
    REJECTED = "rejected"
    UNAPPROVED = "unapproved"
    INCOMPATIBLE = "incompatible"
    REPOSITORY = "repository"
    DELIVERY = "delivery"
    SETUP = "setup"
    STORAGE = "storage"
    INTERNAL = "internal"

    @property
    def cause(self) -> Cause:
        """Why a worker gives a job back that would fail for this reason in the end."""
        return _CAUSES.get(self, Cause.MACHINE)


_CAUSES: Mapping[Reason, Cause] = {
    Reason.MODEL_UNAVAILABLE: Cause.PROVIDER,
    Reason.SANDBOX_UNAVAILABLE: Cause.SANDBOX,
    Reason.STORAGE: Cause.STORAGE,
    Reason.REPOSITORY: Cause.REPOSITORY,
    Reason.DELIVERY: Cause.REPOSITORY,
    Reason.SETUP: Cause.PACKAGES,
}


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """`number` of the form, and the `release` of Fettle that wrote it ('': it did not say)."""

    number: int
    release: str = ""

    def __str__(self) -> str:
        return f"{self.number} {self.release}".rstrip()

    @classmethod
    def parse(cls, text: str) -> GraphFormat:
        """What `str` wrote. Raises ValueError."""
        number, _, release = text.partition(" ")
        return cls(int(number), release)


UNSAID = GraphFormat(1)
"""Of checkpoints whose job's record names no format: releases before there was one."""
ANEW = GraphFormat(0)
"""Of a job that restarts from its task: the checkpoints that it has do not count."""


OVER = frozenset({Reason.REJECTED, Reason.INCOMPATIBLE})
"""Why a job failed that leaves nothing to go on from."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on a job until `until` (ms), which is also when the job is due.

    `alone`: in a process that holds no other.
    """

    worker: str
    until: int
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Wait:
    """What a queued job waits for until its next try (`due_at`): `on` names it, such as `groq` or
    `the sandbox`; `why` is the error."""

    on: str
    why: str


@dataclass(frozen=True, slots=True)
class PatchRef:
    """What a job changed in its repository, as `git apply` takes it: the digest of its bytes, their
    number, the files and lines it changes, and the commit (hexadecimal) that it applies to."""

    digest: str
    size: int
    files: int
    insertions: int
    deletions: int
    base: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a job has pushed to the repository that it was fetched from: one `commit`, as `branch`
    (both None: nothing). `pull_request` is the address of the one that was opened, `base` the
    branch that the change is for, and `base_moved` whether that is no longer at the commit that the
    job began with. `note` says why nothing was delivered, or what to do now."""

    branch: str | None = None
    commit: str | None = None
    pull_request: str | None = None
    base: str | None = None
    base_moved: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a job. `approved_by` is `critic`, the names of persons, or None.

    artifacts: ({name, digest, size, media_type}, ...): the files that its runs produced. `checks`
    is the last report of its acceptance checks, or None. `verification` is the data of the event
    `verified` of these files (see `jobs.model.event_data`), or None. A job on a repository has a
    `patch`, and `bundle` is the digest of the same change as a git bundle of one commit. A job that
    delivers its change has a `delivery`, even if the delivery failed half-way.
    """

    answer: str
    approved_by: str | None
    artifacts: tuple[Mapping[str, Any], ...] = ()
    override: bool = False
    checks: Mapping[str, Any] | None = None
    verification: Mapping[str, Any] | None = None
    patch: PatchRef | None = None
    bundle: str | None = None
    delivery: Delivery | None = None


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job. `version` counts its changes, `epoch` its claims, `hints` those since the last one.

    `due_at` is when the sweeper looks at it next; heartbeats and a job's turn in its line move it
    without a new version.
    `inherits` is the job whose checkpoints and journal this one continues, if any.
    `graph` is the format of its newest checkpoint, None where none was written by a release that
    says; see `checkpointed`.
    `decided_epoch` is the epoch that `decision` was made after: the next attempt resumes a pause.
    `ends_by` is when the worker that holds it must have let it go: from then on its lease is not
    renewed (see `overdue`).
    `progress_epoch` is the last epoch under which a checkpoint or a journal entry was written;
    `workspace` the manifest digest that the last finished tool call left; `ran_ms` the running
    time before the present attempt. `submitted_by` is the name of the API key that brought it,
    which may be given to another one later, and `key_id` its id. `authors` are the others whose
    work this is: the owners of the jobs it retries, and whose edits have run (see
    `jobs.transitions.reviews`).
    `revisions` are the executor's passes, as they were counted at its last pause or at its end.
    `once` is the Idempotency-Key of its request, which names this job until the job is removed.
    """

    id: str
    tenant: str
    spec: JobSpec
    conversation_id: str
    created_at: int
    updated_at: int
    due_at: int
    status: Status = Status.QUEUED
    version: int = 1
    epoch: int = 0
    attempts: int = 0
    crashes: int = 0
    retries: int = 0
    hints: int = 0
    progress_epoch: int = 0
    ran_ms: int = 0
    lease: Lease | None = None
    wait: Wait | None = None
    review: Review | None = None
    decision: Decision | None = None
    workspace: str | None = None
    decided_epoch: int = 0
    claimed_at: int | None = None
    started_at: int | None = None
    finished_at: int | None = None
    ends_by: int | None = None
    reason: Reason | None = None
    detail: str = ""
    result: Result | None = None
    inherits: str | None = None
    graph: GraphFormat | None = None
    submitted_by: str = ""
    key_id: str = ""
    person: str = ""
    """The person of that key; '' if an older release has recorded the job."""
    request_id: str = ""
    revisions: int = 0
    authors: tuple[Signer, ...] = ()
    once: str = ""

    def ran(self, now: int) -> int:
        """How long it was worked on, in ms: by a lost worker until the end of its lease."""
        if self.lease is None or self.claimed_at is None:
            return self.ran_ms
        return self.ran_ms + max(min(now, self.lease.until) - self.claimed_at, 0)

    @property
    def overdue(self) -> bool:
        """Whether a worker holds it for too long, because its own deadline has no effect.

        By the lease and not by the time: while Redis was away, no lease could be renewed.
        """
        leased = self.lease is not None and self.ends_by is not None
        return leased and self.due_at > (self.ends_by or 0)

    @property
    def waits(self) -> Wait | None:
        """What it waits for without a worker; None where a worker could take it, or has it."""
        resting = self.status is Status.QUEUED and self.hints == 0
        return self.wait if resting else None

    def rests(self, now: int) -> bool:
        """Whether a queued job waits until `due_at`: a stray hint must not cut the delay short."""
        return self.status is Status.QUEUED and self.hints == 0 and self.due_at > now

    @property
    def resumes_pause(self) -> bool:
        """Whether this attempt is the first after a Decision: no call can have been in flight."""
        return self.decision is not None and self.epoch == self.decided_epoch + 1

    @property
    def over(self) -> bool:
        """Whether nothing goes on from its checkpoints and journal: no attempt, and no retry."""
        return self.status is Status.SUCCEEDED or self.reason in OVER

    @property
    def unapproved(self) -> bool:
        """Whether it ended without an approval of its work: failed for that reason, or accepted
        because the job says so. A verification needs no approval."""
        if self.status is Status.SUCCEEDED and self.spec.kind is Kind.TASK:
            return self.result is None or self.result.approved_by is None
        return self.reason is Reason.UNAPPROVED

    @property
    def checkpointed(self) -> GraphFormat | None:
        """The format that the next attempt must read; None where there is no checkpoint yet."""
        if self.graph is not None:
            return None if self.graph == ANEW else self.graph
        tried = self.attempts - (self.status is Status.RUNNING)
        return UNSAID if tried > 0 or self.inherits is not None else None
