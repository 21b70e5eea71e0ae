"""What may happen to a job, as pure functions: (record, command, time) -> Change | Refusal.

            +-----------------------------------------------------+
            v                                                     |
queued -> running -> awaiting_review --decision--> queued         |
   |         |  \\-> queued (drained, lease lost, retry) ---------+
   |         +-----> succeeded | failed
   +------ cancelled (from any state that is not final)
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from jobs import upgrade
from jobs.change import Change, Refusal
from jobs.events import NewEvent
from jobs.record import JobRecord, Lease, Reason, Result, Status
from jobs.review import Action, Decision, Review, ReviewKind
from jobs.spec import JobSpec

__all__ = ["Change", "Policy", "Refusal"]

FIRST_HINT_MS = 1_000
"""How long a hint may take before the sweeper sends another; doubled for each one (no floods).

A worker that froze or fell silent still takes the one hint that it had asked for: where that was
for a dead worker's job, the next one must come in time for J8."""
MOST_HINT_MS = 60_000
CRASHES_BEFORE_ALONE = 2
RETRIES = 3


@dataclass(frozen=True, slots=True)
class Policy:
    """Numbers that an operator sets; milliseconds."""

    lease_ms: int = 15_000
    retry_ms: int = 5_000
    """Rest after infrastructure trouble, doubled each time."""


def submit(
    job_id: str,
    tenant: str,
    spec: JobSpec,
    now: int,
    *,
    by: str,
    request_id: str,
    key_id: str = "",
) -> Change:
    """A new job, due at once; its first hint is on its way."""
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
        request_id=request_id,
    )
    data = {
        "by": by,
        "task": spec.task,
        "review": spec.review,
        "model": spec.model,
        "priority": spec.priority,
    }
    return Change(record, (NewEvent("submitted", "submitted", data),))


def claim(
    record: JobRecord,
    now: int,
    *,
    worker: str,
    policy: Policy,
    alone: bool = False,
    reads: Collection[int] | None = None,
) -> Change | Refusal:
    """A lease for `worker`; raises the epoch (J4). A job that crashed twice wants to be alone.

    `reads`: the formats of checkpoints that the worker goes on from; None: whatever they are."""
    if record.status is not Status.QUEUED:
        return Refusal("not_queued", f"the job is {record.status}", record.status)
    if _rests(record, now):
        return Refusal("not_due", "the job rests until its next try", record.status)
    if reads is not None and (written := upgrade.unread(record, reads)) is not None:
        return Refusal("unreadable", f"its checkpoints are in format {written}", record.status)
    if record.crashes >= CRASHES_BEFORE_ALONE and not alone:
        detail = "the job crashed twice and runs next in a process of its own"
        return Refusal("alone", detail, record.status)
    until = now + policy.lease_ms
    after = _next(
        record,
        now,
        status=Status.RUNNING,
        epoch=record.epoch + 1,
        attempts=record.attempts + 1,
        hints=0,
        lease=Lease(worker, until, alone),
        due_at=until,
        claimed_at=now,
        started_at=record.started_at or now,
    )
    data = {"attempt": after.attempts, "worker": worker}
    return Change(after, (NewEvent(f"started:{after.epoch}", "started", data),))


def pause(record: JobRecord, now: int, *, review: Review) -> Change | Refusal:
    """Ask a person: the job leaves its worker and holds nothing (J9)."""
    if record.status is not Status.RUNNING:
        return _not_running(record)
    if (seconds := record.spec.review_expires_seconds) is not None:
        review = replace(review, expires_at=now + seconds * 1000)
    graph_asks = review.kind is not ReviewKind.UPGRADE  # or it may still wait for another answer
    kept = None if graph_asks else record.decision
    waits = Status.AWAITING_REVIEW
    after = _leave_worker(record, now, status=waits, review=review, decision=kept)
    data = {"review_id": review.id, "kind": review.kind}
    return Change(after, (NewEvent(f"review_opened:{record.epoch}", "review_opened", data),))


def decide(record: JobRecord, now: int, *, decision: Decision) -> Change | Refusal:
    """Apply a Decision once, to the Review it names, while that is open (J10)."""
    if record.status is not Status.AWAITING_REVIEW or record.review is None:
        return Refusal("no_open_review", f"the job is {record.status}", record.status)
    if decision.review_id != record.review.id:
        return Refusal(
            "stale_review", f"the open review is {record.review.id}", Status.AWAITING_REVIEW
        )
    upgrades = record.review.kind is ReviewKind.UPGRADE
    if upgrades and decision.action not in upgrade.TAKES:
        detail = f"a review of kind upgrade takes {', '.join(upgrade.TAKES)}"
        return Refusal("not_offered", detail, Status.AWAITING_REVIEW)
    data = {
        "review_id": decision.review_id,
        "action": decision.action,
        "by": decision.by,
        "feedback": decision.feedback,
        "override": decision.override,
    }
    decided = [NewEvent(f"decided:{record.epoch}", "decided", data)]
    reason = Reason.INCOMPATIBLE if upgrades else Reason.REJECTED
    if upgrades:
        closed = upgrade.settled(record, decision)
        decided += upgrade.told(record, decision)
    else:
        closed = replace(record, review=None, decision=decision, decided_epoch=record.epoch)
    if decision.action is Action.REJECT:
        detail = decision.feedback or f"rejected by {decision.by}"
        change = _end(closed, now, Status.FAILED, reason=reason, detail=detail)
        return replace(change, events=(*decided, *change.events))
    return Change(_next(closed, now, **_hinted(now)), tuple(decided))


def cancel(record: JobRecord, now: int, *, by: str) -> Change | Refusal:
    """End a job from any state that is not final; sticky, one winner (J11)."""
    if record.status.final:
        return Refusal("final", f"the job is {record.status}", record.status)
    return _end(record, now, Status.CANCELLED, by=by)


def succeed(record: JobRecord, now: int, *, result: Result) -> Change | Refusal:
    """The graph has ended with a result."""
    if record.status is not Status.RUNNING:
        return _not_running(record)
    return _end(record, now, Status.SUCCEEDED, result=result)


def fail(
    record: JobRecord, now: int, *, reason: Reason, detail: str, result: Result | None = None
) -> Change | Refusal:
    """The graph has ended without; the best result so far may be attached."""
    if record.status is not Status.RUNNING:
        return _not_running(record)
    return _end(record, now, Status.FAILED, reason=reason, detail=detail, result=result)


def give_back(record: JobRecord, now: int, *, why: str, detail: str = "") -> Change | Refusal:
    """An orderly end without a result: the worker drains (`drained`)."""
    if record.status is not Status.RUNNING:
        return _not_running(record)
    after = _leave_worker(record, now, **_hinted(now))
    data = {"why": why, "detail": detail, "delay_ms": 0}
    return Change(after, (NewEvent(f"given_back:{record.epoch}", "given_back", data),))


def retry(
    record: JobRecord, now: int, *, reason: Reason, detail: str, policy: Policy
) -> Change | Refusal:
    """Infrastructure trouble: try again after a delay, a bounded number of times, then fail.

    What an attempt has finished resets the count, so that a long job may meet trouble more often.
    """
    if record.status is not Status.RUNNING:
        return _not_running(record)
    before = 0 if record.progress_epoch == record.epoch else record.retries
    if before >= RETRIES:
        return _end(record, now, Status.FAILED, reason=reason, detail=detail)
    delay = policy.retry_ms * 2**before
    after = _leave_worker(
        record, now, status=Status.QUEUED, retries=before + 1, hints=0, due_at=now + delay
    )
    data = {"why": "retry", "detail": f"{reason}: {detail}", "delay_ms": delay}
    return Change(after, (NewEvent(f"given_back:{record.epoch}", "given_back", data),))


def expire(record: JobRecord, now: int, *, place: str = "") -> Change | Refusal:
    """A lease ran out without a word: a crash (J7). Only one that was alone can be poison.

    `place` is where the work had come to, in words.
    """
    if record.status is not Status.RUNNING or record.lease is None:
        return _not_running(record)
    if record.lease.until > now:
        return Refusal("lease_held", "the lease has not run out", record.status)
    progressed = record.progress_epoch == record.epoch
    crashes = 1 if progressed else record.crashes + 1
    data = {"worker": record.lease.worker, "crashes": crashes}
    lost = NewEvent(f"lease_lost:{record.epoch}", "lease_lost", data)
    if record.lease.alone and not progressed:
        killed = f"attempt {record.attempts} killed its own process, {record.lease.worker}"
        detail = ", ".join(filter(None, (killed, place)))
        change = _end(record, now, Status.FAILED, reason=Reason.POISONED, detail=detail)
        return replace(change, events=(lost, *change.events))
    after = replace(_leave_worker(record, now, **_hinted(now)), crashes=crashes)
    return Change(after, (lost,))


def hint(record: JobRecord, now: int) -> Change | Refusal:
    """Another hint for a job that is due and unclaimed, further apart each time."""
    if record.status is not Status.QUEUED:
        return Refusal("not_queued", f"the job is {record.status}", record.status)
    if record.due_at > now:
        return Refusal("not_due", "another sweeper was first", record.status)
    wait = min(FIRST_HINT_MS * 2 ** min(record.hints, 16), MOST_HINT_MS)
    return Change(_next(record, now, hints=record.hints + 1, due_at=now + wait))


def _end(
    record: JobRecord,
    now: int,
    status: Status,
    *,
    reason: Reason | None = None,
    detail: str = "",
    result: Result | None = None,
    by: str = "",
) -> Change:
    left = _leave_worker(record, now, status=status)
    after = replace(left, finished_at=now, review=None, reason=reason, detail=detail, result=result)
    data: dict[str, Any]
    match status:
        case Status.SUCCEEDED:
            data = {"approved_by": result.approved_by if result else None}
        case Status.CANCELLED:
            data = {"by": by}
        case _:
            data = {"reason": reason, "detail": detail}
    return Change(after, (NewEvent("final", str(status), data),))


def _hinted(now: int) -> dict[str, Any]:
    """Queued, with a hint on its way: the sweeper looks again when that had its time."""
    return {"status": Status.QUEUED, "hints": 1, "due_at": now + FIRST_HINT_MS}


def _rests(record: JobRecord, now: int) -> bool:
    """Whether no hint is meant to come before `due_at`: a stray one must not cut a delay short."""
    return record.hints == 0 and record.due_at > now


def _leave_worker(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    return _next(
        record,
        now,
        lease=None,
        claimed_at=None,
        crashes=0,
        ran_ms=record.ran(now),
        **fields,
    )


def _next(record: JobRecord, now: int, **fields: Any) -> JobRecord:
    return replace(record, version=record.version + 1, updated_at=now, **fields)


def _not_running(record: JobRecord) -> Refusal:
    return Refusal("not_running", f"the job is {record.status}", record.status)
