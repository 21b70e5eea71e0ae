"""The commands on a job, as pure functions: (record, command, time) -> Change | Refusal.

            +-----------------------------------------------------+
            v                                                     |
queued -> running -> awaiting_review --decision--> queued         |
   |         |  \\-> queued (drained, lease lost, retry) ---------+
   |         +-----> succeeded | failed
   +------ cancelled (from any state that is not final)

J1 to J14 are the invariants of docs/invariants.md. See ADR 4.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict
from zlib import crc32

from jobs.model.credentials import Signer
from jobs.model.events import NewEvent
from jobs.model.record import Cause, JobRecord, Lease, Reason, Result, Status, Wait
from jobs.model.review import Review, ReviewKind
from jobs.model.review_digest import digest_review
from jobs.model.spec import JobKind, JobSpec
from jobs.transitions import expiry, upgrade
from jobs.transitions.change import (
    AFTER_CRASH_MS,
    FIRST_HINT_MS,
    IN_LINE_MS,
    Change,
    Refusal,
    end,
    next_version,
    queued_fields,
    refuse_not_running,
    release_lease,
)
from jobs.transitions.reviews import decide

# Names of other modules that callers import from here; the commands below are public, too.
__all__ = ["Change", "Policy", "Refusal", "decide"]

MAX_HINT_MS = 60_000
CRASHES_BEFORE_ALONE = 2


@dataclass(frozen=True, slots=True)
class Policy:
    """The operator's limits. Times are in ms."""

    lease_ms: int = 15_000
    retries: int = 12
    """The retries in a row after infrastructure trouble, without progress in between."""
    retry_ms: int = 5_000
    """The delay before the first retry. It doubles each time."""
    longest_retry_ms: int = 300_000
    """The longest delay before a retry."""
    overdue_ms: int = 60_000
    """How long after a job's deadline a worker may take to record its end."""


class Submitter(TypedDict, total=False):
    """The submitter of a new job: see the fields of `JobRecord`."""

    by: Required[str]
    key_id: str
    person: str
    request_id: str
    batch_id: str


def submit(
    job_id: str,
    tenant: str,
    spec: JobSpec,
    now: int,
    *,
    by: str,
    request_id: str = "",
    key_id: str = "",
    person: str = "",
    batch_id: str = "",
    authors: tuple[Signer, ...] = (),
    **origin: str,
) -> Change:
    """A new job, due at once, with its first hint in flight.

    `authors`: the authors of the work that it starts from. `origin`: the id of the job that it
    derives from, as `retry_of`, `rebase_of` or `fork_of`.
    """
    record = JobRecord(
        id=job_id,
        tenant=tenant,
        spec=spec,
        conversation_id=spec.conversation_id or job_id,
        created_at=now,
        updated_at=now,
        due_at=now + FIRST_HINT_MS,
        workspace=spec.workspace,
        hints=1,
        submitted_by=by,
        key_id=key_id,
        person=person,
        request_id=request_id,
        batch_id=batch_id,
        authors=authors,
    )
    data = {
        "by": by,
        "person": person,
        "task": spec.task,
        "review": spec.review,
        "model": spec.model,
        "priority": spec.priority,
        **origin,
    }
    return Change(record, (NewEvent("submitted", "submitted", data),))


def claim(
    record: JobRecord,
    now: int,
    *,
    worker: str,
    policy: Policy,
    alone: bool = False,
    readable: Collection[int] | None = None,
    authors: Collection[Signer] = (),
) -> Change | Refusal:
    """Grant `worker` a lease, and raise the epoch (J4). A job that crashed twice must run alone.

    `readable`: the formats of checkpoints that the worker can read; None: all formats. `authors`:
    of the work that a follow-up starts from. They become authors of the job.
    """
    if record.status is not Status.QUEUED:
        return Refusal("not_queued", f"the job is {record.status}", record.status)
    if record.rests(now):
        return Refusal("not_due", "the job waits until its next try", record.status)
    stored_format = None if readable is None else upgrade.unreadable_format(record, readable)
    if stored_format is not None:
        return Refusal(
            "unreadable", f"its checkpoints are in format {stored_format}", record.status
        )
    if record.crashes >= CRASHES_BEFORE_ALONE and not alone:
        detail = "the job crashed twice and runs next in a process of its own"
        return Refusal("alone", detail, record.status)
    until = now + policy.lease_ms
    after = next_version(
        record,
        now,
        status=Status.RUNNING,
        epoch=record.epoch + 1,
        attempts=record.attempts + 1,
        hints=0,
        lease=Lease(worker, until, alone),
        due_at=until,
        claimed_at=now,
        wait=None,
        started_at=record.started_at or now,
        authors=tuple(dict.fromkeys((*record.authors, *authors))),
        ends_by=max(now + _remaining_ms(record) + policy.overdue_ms, until),
    )
    if record.spec.kind is JobKind.BENCHMARK and record.attempts:
        return Change(after)  # it is claimed again every few seconds
    data = {"attempt": after.attempts, "worker": worker}
    return Change(after, (NewEvent(f"started:{after.epoch}", "started", data),))


def pause(record: JobRecord, now: int, *, review: Review) -> Change | Refusal:
    """Open a review. The worker releases the job, which then holds no resources (J9)."""
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    review = expiry.schedule_review(review, record.spec, now)
    # The graph does not ask about an upgrade, and may not have read the last decision yet.
    is_for_graph = review.kind is not ReviewKind.UPGRADE
    decision = None if is_for_graph else record.decision
    status = Status.AWAITING_REVIEW
    revisions = int(review.payload.get("revision", record.revisions))
    after = release_lease(
        record, now, status=status, review=review, decision=decision, revisions=revisions
    )
    digest = digest_review(review)
    data: dict[str, Any] = {"review_id": review.id, "kind": review.kind, "digest": digest}
    if review.kind is ReviewKind.REVIEW:
        data |= {"workspace": record.workspace, "patch": review.payload.get("patch")}
    return Change(after, (NewEvent(f"review_opened:{record.epoch}", "review_opened", data),))


def cancel(
    record: JobRecord, now: int, *, by: str, key_id: str = "", person: str = ""
) -> Change | Refusal:
    """End a job from any state that is not final (J11)."""
    if record.status.final:
        final = "been cancelled" if record.status is Status.CANCELLED else record.status
        detail = f"this job has already {final}: it cannot be cancelled"
        return Refusal("final", detail, record.status)
    signed = {"by": by, "key_id": key_id, "person": person}
    return end(record, now, Status.CANCELLED, cancelled=signed)


def succeed(record: JobRecord, now: int, *, result: Result) -> Change | Refusal:
    """End a job with a result."""
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    return end(record, now, Status.SUCCEEDED, result=result)


def fail(
    record: JobRecord, now: int, *, reason: Reason, detail: str, result: Result | None = None
) -> Change | Refusal:
    """End a job without an approved result. `result`: the best result so far."""
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    return end(record, now, Status.FAILED, reason=reason, detail=detail, result=result)


def requeue(record: JobRecord, now: int, *, cause: Cause, detail: str = "") -> Change | Refusal:
    """Return the job to the queue without a result, because the worker drains or cannot continue
    (`cause`). This does not count as a try."""
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    after = release_lease(record, now, **queued_fields(now))
    data = {"why": "drained", "cause": cause, "detail": detail, "delay_ms": 0}
    return Change(after, (NewEvent(f"given_back:{record.epoch}", "given_back", data),))


def rest(record: JobRecord, now: int, *, wait: Wait, delay_ms: int) -> Change | Refusal:
    """Release a benchmark until its next look at its exercises. This is neither a try nor a fact
    for readers, so it has no event. Each look has the whole running time of the job."""
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    released = {"status": Status.QUEUED, "hints": 0, "due_at": now + delay_ms, "wait": wait}
    return Change(replace(release_lease(record, now, **released), retries=0, ran_ms=0))


def retry(
    record: JobRecord,
    now: int,
    *,
    reason: Reason,
    wait: Wait,
    policy: Policy,
    min_delay_ms: int = 0,
    result: Result | None = None,
    counted: bool = True,
    most_retries: int | None = None,
) -> Change | Refusal:
    """Return the job to the queue after infrastructure trouble, with a delay before the next try.
    After `policy.retries` retries, fail with the `result` so far.

    `most_retries`: a smaller limit than `policy.retries`, for trouble that may be a wrong setting.
    The provider may ask for a delay of at least `min_delay_ms`. Progress of an attempt resets the
    number of retries, so that a long job may be retried more often. An attempt without progress
    does not count as running time, because an outage would use that up. `counted`: whether this
    retry counts. It does not count if the worker cannot do any job.
    """
    if record.status is not Status.RUNNING:
        return refuse_not_running(record)
    has_progress = record.progress_epoch == record.epoch
    earlier_retries = 0 if has_progress else record.retries
    limit = policy.retries if most_retries is None else min(most_retries, policy.retries)
    if counted and earlier_retries >= limit:
        setting = " (FETTLE_RETRIES)" if limit == policy.retries else ""
        detail = f"{wait.why}; given up after {earlier_retries + 1} tries{setting}"
        return end(record, now, Status.FAILED, reason=reason, detail=detail, result=result)
    backoff = min(policy.retry_ms * 2 ** min(earlier_retries, 32), policy.longest_retry_ms)
    delay = _spread_delay(record.id, max(backoff, min_delay_ms))
    after = release_lease(
        record,
        now,
        status=Status.QUEUED,
        retries=earlier_retries + counted,
        hints=0,
        due_at=now + delay,
        wait=wait,
    )
    if not has_progress:
        after = replace(after, ran_ms=record.ran_ms)
    data = {
        "why": "retry",
        "cause": reason.cause,
        "detail": f"{reason}: {wait.why}",
        "delay_ms": delay,
        "waits_for": wait.on,
    }
    return Change(after, (NewEvent(f"given_back:{record.epoch}", "given_back", data),))


def expire(record: JobRecord, now: int, *, progress: str = "") -> Change | Refusal:
    """Handle an expired lease: a crash (J7). The sweeper calls this at most one lease and one sweep
    interval after the last heartbeat, by default 15 s + 2 s (J8). Only a job that ran alone can be
    `poisoned`.

    An overdue job, which gets no renewed lease, fails. `progress` is the last finished work, as
    text.
    """
    if record.status is not Status.RUNNING or record.lease is None:
        return refuse_not_running(record)
    if record.lease.until > now:
        return Refusal("lease_held", "the lease has not run out", record.status)
    has_progress = record.progress_epoch == record.epoch
    crashes = 1 if has_progress else record.crashes + 1
    data = {"worker": record.lease.worker, "crashes": crashes}
    lost = NewEvent(f"lease_lost:{record.epoch}", "lease_lost", data)
    if record.overdue:
        detail = f"its worker did not end it within {record.spec.running_seconds} s or soon after"
        change = end(record, now, Status.FAILED, reason=Reason.DEADLINE, detail=detail)
        return replace(change, events=(lost, *change.events))
    if record.lease.alone and not has_progress:
        summary = f"attempt {record.attempts} killed its own process, {record.lease.worker}"
        detail = ", ".join(filter(None, (summary, progress)))
        change = end(record, now, Status.FAILED, reason=Reason.POISONED, detail=detail)
        return replace(change, events=(lost, *change.events))
    after = replace(
        release_lease(record, now, **queued_fields(now, AFTER_CRASH_MS)), crashes=crashes
    )
    return Change(after, (lost,))


def hint(record: JobRecord, now: int) -> Change | Refusal:
    """Send another hint at a job that is due and unclaimed, at growing intervals."""
    if record.status is not Status.QUEUED:
        return Refusal("not_queued", f"the job is {record.status}", record.status)
    if record.due_at > now:
        return Refusal("not_due", "another sweeper has sent a hint", record.status)
    first_delay = AFTER_CRASH_MS if record.crashes else FIRST_HINT_MS
    wait = min(first_delay * 2 ** min(record.hints, 16), MAX_HINT_MS)
    return Change(next_version(record, now, hints=record.hints + 1, due_at=now + wait))


def postpone_in_line(record: JobRecord, now: int) -> Change | Refusal:
    """Postpone a job that is due, but waits for another job of its conversation."""
    if record.status is not Status.QUEUED or record.due_at > now:
        return Refusal("not_due", "another sweeper has postponed it", record.status)
    return Change(next_version(record, now, due_at=now + IN_LINE_MS))


def _remaining_ms(record: JobRecord) -> int:
    """How long the job may still run, in ms."""
    return max(record.spec.running_seconds * 1000 - record.ran_ms, 0)


def _spread_delay(job_id: str, delay: int) -> int:
    """The delay, and up to a tenth more, by the job's id: jobs that failed together do not return
    together."""
    return delay + delay * (crc32(job_id.encode()) % 1_000) // 10_000
