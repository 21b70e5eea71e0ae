"""Histories for the checker: jobs change in memory, by `jobs.transitions`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from jobs.model.events import Event, NewEvent
from jobs.model.record import Cause, JobRecord, Result, Status
from jobs.model.review import Action, Decision, Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.redis import keys
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change, Policy, Refusal
from lab.drills.chaos.checks.case import RecoveryBounds
from lab.drills.chaos.checks.checker import CheckerVerdict, check
from lab.drills.chaos.deployment.reading import Indexes, JobRead, Reading, job_read
from lab.drills.chaos.oplog import (
    Called,
    Cancelled,
    Connected,
    Decided,
    Entry,
    Moment,
    Received,
    Submitted,
)

BEGAN = 1_700_000_000.0
TENANT = "default"
BOUNDS = RecoveryBounds(lease=2.0, heartbeat=0.5, sweep=0.5)


@dataclass
class Story:
    """One deployment: each operation is written to the log and to the reading. `at` is in seconds
    since BEGAN.
    """

    at: float = 0.0
    log: list[Entry] = field(default_factory=list)
    records: dict[str, JobRecord] = field(default_factory=dict)
    events: dict[str, list[Event]] = field(default_factory=dict)
    charges: dict[str, set[str]] = field(default_factory=dict)
    once: dict[str, str] = field(default_factory=dict)

    def moment(self, late: float = 0.0) -> Moment:
        return Moment(BEGAN + self.at + late, 100.0 + self.at + late)

    @property
    def now(self) -> int:
        return round((BEGAN + self.at) * 1000)

    def submit(self, job_id: str, **spec: Any) -> None:
        change = lifecycle.submit(
            job_id, TENANT, JobSpec("t", **spec), self.now, by="ann", request_id=""
        )
        self.events[job_id], self.charges[job_id] = [], set()
        self._apply(change)
        self.once[f"key-{job_id}"] = job_id
        self.log.append(
            Submitted(
                at=self.moment(),
                asked=self.moment(),
                status=202,
                key=f"key-{job_id}",
                body="b",
                job_id=job_id,
            )
        )

    def claim(self, job_id: str, pid: int, *, alone: bool = False) -> None:
        self._do(
            lifecycle.claim(
                self.records[job_id],
                self.now,
                worker=f"host:{pid}:abc",
                policy=Policy(2_000),
                alone=alone,
            )
        )

    def call(
        self, job_id: str, content: str, pid: int, *, recorded: bool = True, number: int = 1
    ) -> None:
        """A call of the model. If its worker dies during the call, it is not recorded. `number`
        counts calls that are repeated for a good reason.
        """
        self.log.append(Called(at=self.moment(), key=f"key-{job_id}", said=content, caller=pid))
        self.at += 0.1
        if recorded:
            call = f"{job_id}-{content}" if number == 1 else f"{job_id}-{content}-{number}"
            self.work(job_id, "model_called", {"call": call})
            self.charges[job_id].add(call)
            record = self.records[job_id]
            self.records[job_id] = replace(record, progress_epoch=record.epoch)

    def work(self, job_id: str, kind: str, data: dict[str, Any]) -> None:
        # the events that a retry inherits come before its first attempt
        self._record_event(job_id, NewEvent("", kind, data), self.records[job_id].epoch or None)

    def expire(self, job_id: str) -> None:
        self._do(lifecycle.expire(self.records[job_id], self.now))

    def requeue(self, job_id: str) -> None:
        self._do(lifecycle.requeue(self.records[job_id], self.now, cause=Cause.STOPPING))

    def pause(self, job_id: str, review: str = "r1") -> None:
        opened = Review(review, ReviewKind.REVIEW, {"unproven": None}, self.now)
        self._do(lifecycle.pause(self.records[job_id], self.now, review=opened))

    def park(self, job_id: str, review: Review) -> None:
        self._do(lifecycle.pause(self.records[job_id], self.now, review=review))

    def decide(self, job_id: str, action: Action = Action.APPROVE, review: str = "r1") -> None:
        decision = Decision(review, action, "ann")
        self._do(lifecycle.decide(self.records[job_id], self.now, decision=decision))
        self.log.append(self.decided(job_id, 202, action, review))

    def decided(
        self, job_id: str, status: int | None, action: Action = Action.APPROVE, review: str = "r1"
    ) -> Decided:
        return Decided(
            at=self.moment(),
            asked=self.moment(),
            status=status,
            job_id=job_id,
            review_id=review,
            action=action,
        )

    def cancel(self, job_id: str) -> None:
        self._do(lifecycle.cancel(self.records[job_id], self.now, by="ann"))
        self.log.append(self.cancelled(job_id, 202))

    def cancelled(self, job_id: str, status: int | None) -> Cancelled:
        return Cancelled(at=self.moment(), asked=self.moment(), status=status, job_id=job_id)

    def succeed(self, job_id: str) -> None:
        result = Result("42", "critic")
        self._do(lifecycle.succeed(self.records[job_id], self.now, result=result))

    def fail(self, job_id: str, reason: Any) -> None:
        self._do(lifecycle.fail(self.records[job_id], self.now, reason=reason, detail=""))

    def stream(self, job_id: str, reader: str = "s1", after: int = 0) -> None:
        """A reader receives every event after `after`."""
        self.log.append(Connected(at=self.moment(), job_id=job_id, reader=reader, after=after))
        for event in self.events[job_id][after:]:
            received = Received(
                at=self.moment(), job_id=job_id, reader=reader, seq=event.seq, kind=event.kind
            )
            self.log.append(received)

    def reading(self) -> Reading:
        """The content that a store would have."""
        jobs = {
            job_id: job_read(
                record,
                tuple(self.events[job_id]),
                0 if record.cannot_continue else len(self.events[job_id]),
                frozenset(self.charges[job_id]),
            )
            for job_id, record in self.records.items()
        }
        return Reading(jobs, self._indexes())

    def verdict(self, reading: Reading | None = None) -> CheckerVerdict:
        return check(self.log, reading or self.reading(), BOUNDS)

    def _indexes(self) -> Indexes:
        under: dict[Status, set[str]] = {status: set() for status in Status}
        due, lines, counts = {}, {}, {}
        for record in self.records.values():
            under[record.status].add(record.id)
            counts[str(record.status)] = counts.get(str(record.status), 0) + 1
            if not record.status.final:
                lines.setdefault(keys.line(TENANT, record.conversation_id), []).append(record.id)
                if record.status is not Status.AWAITING_REVIEW:
                    due[record.id] = record.due_at
        return Indexes(
            due=due,
            awaiting_review=frozenset(under[Status.AWAITING_REVIEW]),
            finished=frozenset(r.id for r in self.records.values() if r.status.final),
            lines=lines,
            listed={status: frozenset(ids) for status, ids in under.items()},
            counts=counts,
            once=dict(self.once),
        )

    def _do(self, change: Change | Refusal) -> None:
        assert isinstance(change, Change), change
        self._apply(change)

    def _apply(self, change: Change) -> None:
        self.records[change.after.id] = change.after
        for event in change.events:
            self._record_event(change.after.id, event)

    def _record_event(self, job_id: str, event: NewEvent, epoch: int | None = None) -> None:
        events = self.events[job_id]
        events.append(Event(len(events) + 1, self.now, event.kind, dict(event.data), epoch))


def a_story() -> Story:
    """Six jobs: plain, killed once, drained, reviewed, waiting and cancelled. No rule is broken."""
    story = Story()
    for job_id in ("plain", "killed", "drained", "reviewed", "waiting", "cancelled"):
        story.submit(job_id)
    story.at = 1.0
    for job_id in story.records:
        story.claim(job_id, 11)
        story.call(job_id, "plan", 11)
    story.call("killed", "code", 11, recorded=False)
    story.requeue("drained")
    for job_id in ("reviewed", "waiting"):
        story.pause(job_id)
    story.cancel("cancelled")
    story.succeed("plain")
    story.at = 5.0
    story.expire("killed")
    story.decide("reviewed")
    for job_id in ("killed", "drained", "reviewed"):
        story.claim(job_id, 12)
        story.call(job_id, "code", 12)
        story.succeed(job_id)
    for job_id in story.records:
        story.stream(job_id)
    return story


def with_job(reading: Reading, job_id: str, **fields: Any) -> Reading:
    """The reading with other fields in one job."""
    job: JobRead = replace(reading.jobs[job_id], **fields)
    return replace(reading, jobs={**reading.jobs, job_id: job})
