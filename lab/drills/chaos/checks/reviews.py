"""J9, J10, J11: a paused job uses no worker, a decision applies once, a cancel is final."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from jobs.model.events import FINAL_KINDS
from jobs.model.record import Reason, Status
from jobs.model.review import ReviewKind
from lab.drills.chaos.checks.attempts import WORK
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Called, Cancelled, Decided, Repaired

ACCEPTED = 202
SERVER_ERROR = 500
FREEZE = "worker-freeze"
ANSWERED = frozenset({"decided", *FINAL_KINDS})
"""Events that end a wait for a person. Reminders, votes and an expiry without effect do not
end it.
"""


def waits_idle(case: ChaosCase) -> Iterator[Finding]:
    """J9: no worker works on a job that waits for a person, and each waiting job has an open
    review.
    """
    for job in case.jobs:
        waiting = False
        for event in job.events:
            if event.kind == "review_opened":
                waiting = True
            elif waiting and (event.kind in WORK or event.kind in ("started", "lease_lost")):
                yield job.id, f"{event.kind} (event {event.seq}) while a person was asked"
            elif event.kind in ANSWERED:
                waiting = False
        if job.status is Status.AWAITING_REVIEW:
            if not waiting or job.review_id is None:
                yield job.id, "it waits for a person, and no review is open"
            if job.leased:
                yield job.id, "it waits for a person, and holds a lease"


def decided_once(case: ChaosCase) -> Iterator[Finding]:
    """J10: each granted decision is on record once, and each recorded decision was requested.

    The service did not refuse that request. The expiry of a review may also have decided it.
    """
    decisions = case.by_job(Decided)
    for job in case.jobs:
        on_record = _decisions(job)
        yield from _by_event(job, decisions.get(job.id, []), on_record)
        by_review: dict[str, list[Decided]] = defaultdict(list)
        for entry in decisions.get(job.id, ()):
            if entry.granted:
                by_review[entry.review_id].append(entry)
        for review, granted in by_review.items():
            if len(granted) > 1:
                yield job.id, f"review {review} was decided {len(granted)} times"
            for entry in granted:
                if on_record[review, entry.action] == 0:
                    text = f"{entry.action} of review {review} was granted, and is not on record"
                    yield job.id, text
    yield from _to_nobody(case, decisions)


def _decisions(job: JobRead) -> Counter[tuple[str, str]]:
    return Counter(
        (event.data["review_id"], event.data["action"])
        for event in job.events
        if event.kind == "decided"
    )


def _by_event(
    job: JobRead, decisions: list[Decided], on_record: Counter[tuple[str, str]]
) -> Iterator[Finding]:
    opened = {e.data["review_id"] for e in job.events if e.kind == "review_opened"}
    expired = {e.data["review_id"] for e in job.events if e.kind == "review_expired"}
    per_review: Counter[str] = Counter()
    for (review, action), times in on_record.items():
        per_review[review] += times
        if review not in opened:
            yield job.id, f"decided review {review}, which was never opened"
        answers = [e for e in decisions if (e.review_id, e.action) == (review, action)]
        if (
            review not in expired
            and answers
            and not any(entry.granted or _unknown(entry) for entry in answers)
        ):
            text = f"{action} of review {review} is on record, and was refused to all who asked"
            yield job.id, text
    for review, times in per_review.items():
        if times > 1:
            yield job.id, f"review {review} has {times} decisions on record"


def _to_nobody(case: ChaosCase, decisions: dict[str, list[Decided]]) -> Iterator[Finding]:
    for job_id, entries in decisions.items():
        if job_id not in case.reading.jobs and any(entry.granted for entry in entries):
            yield job_id, "a decision was granted for a job that is not there"


def _unknown(entry: Decided | Cancelled) -> bool:
    """Whether the request may have been carried out: there was no answer, or the answer reports an
    outage of Redis.
    """
    return entry.status is None or entry.status >= SERVER_ERROR


def _frozen(case: ChaosCase, entry: Cancelled, call: Called) -> bool:
    """Whether a worker was frozen between the cancel and the call. It may have been about to send
    the call, and no check can come later than that.
    """
    thawed = [repair.at.mono for repair in case.all(Repaired) if repair.fault == FREEZE]
    return any(entry.at.mono <= at <= call.at.mono for at in thawed)


def cancelled_for_good(case: ChaosCase) -> Iterator[Finding]:
    """J11: a granted cancel ends the job, and no model call follows. Without a request, no job is
    cancelled.
    """
    cancellations = case.by_job(Cancelled)
    for job in case.jobs:
        answers = cancellations.get(job.id, [])
        granted = [entry for entry in answers if entry.granted]
        if granted and job.status is not Status.CANCELLED:
            yield job.id, f"its cancel was granted, and it is {job.status}"
        # With the status 200, the job was already cancelled.
        done = [entry for entry in granted if entry.status == ACCEPTED]
        if len(done) > 1:
            yield job.id, f"its cancel was granted {len(done)} times"
        maybe = [entry for entry in answers if entry.granted or _unknown(entry)]
        if job.status is Status.CANCELLED and answers and not maybe:
            yield job.id, "it is cancelled, and every cancel was refused"
        for entry in granted:
            late = entry.at.mono + case.bounds.cancel
            calls = () if job.id in case.inherited else case.calls_by_job.get(job.id, ())
            after = [call for call in calls if call.at.mono > late]
            if after and not _frozen(case, entry, after[0]):
                seconds = after[0].at.mono - entry.at.mono
                yield job.id, f"its model was asked {seconds:.1f} s after its cancel was granted"


def rejected(case: ChaosCase) -> Iterator[Finding]:
    """J10: a rejection ends the job in its own commit as `rejected`, and no other job has this
    reason. The rejection of an upgrade review ends the job as `incompatible`.
    """
    for job in case.jobs:
        opened = {e.data["review_id"]: e.data for e in job.events if e.kind == "review_opened"}
        refused = [
            opened.get(e.data["review_id"], {}).get("kind")
            for e in job.events
            if e.kind == "decided" and e.data["action"] == "reject"
        ]
        reason = Reason.INCOMPATIBLE if ReviewKind.UPGRADE in refused else Reason.REJECTED
        said_no = bool(refused)
        if said_no != (job.reason == reason):
            text = "was rejected" if said_no else "was never rejected"
            yield job.id, f"it {text}, and is {job.status} ({job.reason})"
