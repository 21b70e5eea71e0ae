"""JobRecord: the truth about one job. Frozen; a change is a new record.

Times are milliseconds since 1970 by Redis' clock.

See ADR 5.
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
from jobs.model.spec import EarlierChange, JobSpec

_JOB_ID = re.compile(r"[0-9a-f]{20}")


def new_job_id() -> str:
    """A random id of 20 hexadecimal digits."""
    return secrets.token_hex(10)


def is_job_id(value: object) -> bool:
    """Whether a value from outside has the form of a job's id. Only such a value may be a part of a
    key in Redis."""
    return isinstance(value, str) and _JOB_ID.fullmatch(value) is not None


class Status(StrEnum):
    """The state of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_REVIEW = "awaiting_review"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the state never changes again (J6)."""
        return self in (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)


class Cause(StrEnum):
    """The cause for which a worker returns a job to the queue. Metrics count by it."""

    PROVIDER = "provider"
    SANDBOX = "sandbox"
    STORAGE = "storage"
    REDIS = "redis"
    REPOSITORY = "repository"
    PACKAGES = "packages"
    MACHINE = "machine"
    """An error of the worker's operating system, other than a disk error."""
    STOPPING = "stopping"
    """The worker drains."""


class Reason(StrEnum):
    """The reason why a job failed."""

    MODEL_UNAVAILABLE = "model_unavailable"
    SANDBOX_UNAVAILABLE = "sandbox_unavailable"
    BUDGET_EXHAUSTED = "budget_exhausted"
    DEADLINE = "deadline"
    POISONED = "poisoned"
    """The job killed the process in which it ran alone (J7)."""
    REJECTED = "rejected"
    UNAPPROVED = "unapproved"
    INCOMPATIBLE = "incompatible"
    """No worker can read its checkpoints, and a person ended the job for this reason."""
    REPOSITORY = "repository"
    DELIVERY = "delivery"
    """The approved change could not be pushed."""
    SETUP = "setup"
    """The dependencies of the repository could not be installed."""
    STORAGE = "storage"
    INTERNAL = "internal"

    @property
    def cause(self) -> Cause:
        """The cause for which a worker first returns such a job to the queue."""
        return _CAUSES.get(self, Cause.MACHINE)


_CAUSES: Mapping[Reason, Cause] = {
    Reason.MODEL_UNAVAILABLE: Cause.PROVIDER,
    Reason.SANDBOX_UNAVAILABLE: Cause.SANDBOX,
    Reason.STORAGE: Cause.STORAGE,
    Reason.REPOSITORY: Cause.REPOSITORY,
    Reason.DELIVERY: Cause.REPOSITORY,
    Reason.SETUP: Cause.PACKAGES,
}

REASONS_WITHOUT_RETRY = frozenset({Reason.REJECTED, Reason.INCOMPATIBLE})
"""A retry of such a job starts from its task: its checkpoints and journal are removed."""


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """The format of a job's checkpoints. `agents/graph/checkpoint_format.py` lists the formats."""

    number: int
    release: str = ""
    """The release of Fettle that wrote the checkpoints. '': unknown."""

    def __str__(self) -> str:
        return f"{self.number} {self.release}".rstrip()

    @classmethod
    def parse(cls, text: str) -> GraphFormat:
        """Read the text that `str` makes. Raises ValueError."""
        number, _, release = text.partition(" ")
        return cls(int(number), release)


RESTART = GraphFormat(0)
"""Marks a job that restarts from its task: the checkpoints that it has do not count."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one worker to work on a job."""

    worker: str
    """The worker's id."""
    until: int
    """When the lease expires (ms). The job is due at the same time."""
    alone: bool = False
    """The job runs in a process without other jobs."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why a queued job rests until its next try."""

    on: str
    """What is not available, such as `groq` or `the sandbox`."""
    why: str
    """The error."""


@dataclass(frozen=True, slots=True)
class PatchRef:
    """The change of a repository by a job, as a patch that `git apply` takes."""

    digest: str
    """The digest of the patch's bytes."""
    size: int
    """The size in bytes."""
    files: int
    """The number of changed files."""
    insertions: int
    """The number of added lines."""
    deletions: int
    """The number of removed lines."""
    base: str
    """The commit (hexadecimal) that the patch applies to."""
    lfs: tuple[str, ...] = ()
    """The first changed files that Git LFS would store: the patch has their bytes instead of a
    pointer. Releases up to 0.1 did not record them."""


@dataclass(frozen=True, slots=True)
class Push:
    """The delivery of a job's change to the repository that it was fetched from: one commit on a
    branch."""

    branch: str | None = None
    """The pushed branch. None: no branch was pushed."""
    commit: str | None = None
    """The pushed commit (hexadecimal). None: no commit was pushed."""
    pull_request: str | None = None
    """The address of the pull request. None: no pull request was opened."""
    base: str | None = None
    """The branch that the change is for."""
    base_moved: bool = False
    """`base` has new commits since the job began."""
    note: str = ""
    """The reason that no change was delivered, or advice for the user's next step."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a job."""

    answer: str
    """The executor's answer."""
    approved_by: str | None
    """`critic`, `rules`, or the names of persons. None: the job has no approval."""
    artifacts: tuple[Mapping[str, Any], ...] = ()
    """The files that its runs produced: {name, digest, size, media_type} of each."""
    override: bool = False
    """A person approved although the evidence failed."""
    checks: Mapping[str, Any] | None = None
    """The last report of the acceptance checks (`CheckReportData`)."""
    verification: Mapping[str, Any] | None = None
    """The verification of these files (`VerifiedData`)."""
    patch: PatchRef | None = None
    """The change, if the job is on a repository."""
    bundle: str | None = None
    """The digest of the same change as a git bundle of one commit."""
    delivery: Push | None = None
    """The delivery, if the job delivers its change; also of a delivery that failed half-way."""
    benchmark: Mapping[str, Any] | None = None
    """The summary of a benchmark (`BenchmarkSummary`)."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """The start of a job that continues an earlier change of its repository. The first attempt
    chooses the start: see ADR 97."""

    change: EarlierChange
    workspace: str
    """The digest of the manifest of the job's first files. It names the commit that the job works
    on."""
    target: str
    """The commit (hexadecimal) of the ref of the job's repository when the job began."""
    root: str
    """See `EarlierChange.root`. If the job makes a new branch: the commit that the job works on."""
    branch: str | None = None
    """The branch to which a delivery adds a commit. None: a delivery makes a new branch."""
    merged: bool = False
    """Whether the first files differ from the commit by the earlier change."""
    conflicts: tuple[str, ...] = ()
    """Git's messages about the conflicts that the merge left in the files."""


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One job."""

    id: str
    tenant: str
    spec: JobSpec
    conversation_id: str
    """The id of the conversation's first job."""
    created_at: int
    updated_at: int
    due_at: int
    """When the sweeper looks at the job next. Heartbeats, and the end of the job before it in its
    line, move this time without a new version."""
    status: Status = Status.QUEUED
    version: int = 1
    """The number of changes of the record."""
    epoch: int = 0
    """The number of claims. A write with an older epoch is refused (J5)."""
    attempts: int = 0
    """The number of attempts, including the present attempt."""
    crashes: int = 0
    """The number of crashes in a row (J7)."""
    retries: int = 0
    """The number of retries in a row after infrastructure trouble, without progress in between."""
    hints: int = 0
    """The number of hints since the last claim. A queued job without a hint rests."""
    progress_epoch: int = 0
    """The last epoch under which a journal entry was written."""
    ran_ms: int = 0
    """The running time before the present attempt."""
    lease: Lease | None = None
    """The lease of the present attempt."""
    wait: Wait | None = None
    """Why the job rests, if it does."""
    review: Review | None = None
    """The open review."""
    assignee: str = ""
    """The person who has claimed the reviews of the job, or was assigned to them. Any person may
    decide nevertheless."""
    decision: Decision | None = None
    """The last decision, for the graph."""
    workspace: str | None = None
    """The digest of the manifest that the last finished tool call left. None: no files."""
    continues: Continuation | None = None
    """The earlier change of the repository that the job started from. None: the job has not begun,
    or started from no change."""
    start: str | None = None
    """The digest of the manifest of the files that the job started from. Without a repository: its
    own over those of the earlier job that it follows. On a repository: its own by the paths that
    they have over the commit. None: only the files of its spec, those of `continues`, or Fettle 0.1
    began the job."""
    decided_epoch: int = 0
    """The epoch of the decision. The attempt with the next epoch resumes a pause."""
    claimed_at: int | None = None
    """The beginning of the present attempt."""
    started_at: int | None = None
    """The beginning of the first attempt."""
    finished_at: int | None = None
    ends_by: int | None = None
    """When the worker must have released the job. After this time its lease is not renewed: see
    `overdue`."""
    reason: Reason | None = None
    """Why the job failed."""
    detail: str = ""
    """The reason in words."""
    result: Result | None = None
    inherits: str | None = None
    """The id of the parent, if this job continues its checkpoints and journal."""
    graph: GraphFormat | None = None
    """The format of the checkpoints. None: there is no checkpoint."""
    submitted_by: str = ""
    """The name of the API key that submitted the job. Another key may have this name later."""
    key_id: str = ""
    """The id of that key. '': unknown."""
    person: str = ""
    """The person of that key. '': unknown."""
    request_id: str = ""
    """The id of the HTTP request that submitted the job."""
    batch_id: str = ""
    """The id of the batch that the job was submitted with. '': it was submitted alone."""
    revisions: int = 0
    """The passes of the executor, counted when the job pauses and when it ends."""
    authors: tuple[Signer, ...] = ()
    """Further authors of the work: the authors of the earlier jobs of its conversation and of the
    jobs that it retries, rebases or forks, and the persons with edits that have run. See
    `jobs.transitions.reviews`."""
    messages: tuple[str, ...] = ()
    """One entry for each message of a person to the job: see `jobs.transitions.messages`. The texts
    are in the events."""
    once: str = ""
    """The Idempotency-Key of the request. It names this job until the job is removed."""

    def ran(self, now: int) -> int:
        """The running time in ms. A lost worker counts until the end of its lease."""
        if self.lease is None or self.claimed_at is None:
            return self.ran_ms
        return self.ran_ms + max(min(now, self.lease.until) - self.claimed_at, 0)

    @property
    def overdue(self) -> bool:
        """Whether the worker should have released the job, because its own deadline has no effect.

        The lease decides, not the time: while Redis is unreachable, no lease can be renewed.
        """
        leased = self.lease is not None and self.ends_by is not None
        return leased and self.due_at > (self.ends_by or 0)

    @property
    def waits(self) -> Wait | None:
        """The cause for which a queued job rests; None if a worker could claim it or has it."""
        resting = self.status is Status.QUEUED and self.hints == 0
        return self.wait if resting else None

    def rests(self, now: int) -> bool:
        """Whether a queued job waits until `due_at`. A stray hint must not end the delay."""
        return self.status is Status.QUEUED and self.hints == 0 and self.due_at > now

    @property
    def resumes_pause(self) -> bool:
        """Whether this attempt is the first after a decision. No call can have been in flight."""
        return self.decision is not None and self.epoch == self.decided_epoch + 1

    @property
    def cannot_continue(self) -> bool:
        """Whether no attempt and no retry will continue from the checkpoints and the journal."""
        return self.status is Status.SUCCEEDED or self.reason in REASONS_WITHOUT_RETRY

    @property
    def unapproved(self) -> bool:
        """Whether the job ended without an approval of its work: it failed for that reason, or was
        accepted because its spec says so. Only the work of agents needs an approval."""
        if self.status is Status.SUCCEEDED and self.spec.kind.is_for_agents:
            return self.result is None or self.result.approved_by is None
        return self.reason is Reason.UNAPPROVED

    @property
    def override(self) -> bool:
        """Whether the approval of the job's work overrode its evidence."""
        by_decision = self.decision is not None and self.decision.override
        return by_decision or (self.result is not None and self.result.override)

    @property
    def checkpointed(self) -> GraphFormat | None:
        """The format that the next attempt must read; None if there is no checkpoint to read."""
        return None if self.graph == RESTART else self.graph
