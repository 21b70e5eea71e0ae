"""J13: each payment is on record once, and is not made again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from agents.calls.model_call import LOST_CALL
from jobs.model.events import Event
from lab.drills.chaos.checks.attempts import RecordedAttempt
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Called


@dataclass(frozen=True, slots=True)
class Repeat:
    """A call that was made again."""

    job_id: str
    call: Called
    is_needed: bool
    """No answer to it was on record, because it was in flight when its worker was lost. False: it
    was paid for nothing."""


def repeats(case: ChaosCase) -> list[Repeat]:
    """Every model call that was made more than once.

    Calls of a job are made in an order, so that the nth thing asked is the nth call on record. An
    attempt must not repeat a call that was on record when it began, nor make a call twice. A worker
    that was frozen may wake and repeat a call that another worker has made since.
    """
    repeated: list[Repeat] = []
    for job_id, calls in case.calls_by_job.items():
        job = case.reading.jobs.get(job_id)
        if job is not None and job_id not in case.inherited | case.anew:
            repeated += _repeats(job, case.attempts[job_id], calls)
    return repeated


def _repeats(
    job: JobRead, tried: Sequence[RecordedAttempt], calls: Sequence[Called]
) -> Iterator[Repeat]:
    recorded = [event for event in job.events if event.kind == "model_called"]
    order: list[str] = []
    paid_calls: set[tuple[int, str]] = set()
    for call in calls:
        again = call.said in order
        if not again:
            order.append(call.said)
        attempt = _attempt(tried, call, paid_calls)
        if again:
            nth = order.index(call.said)
            answer = recorded[nth] if nth < len(recorded) else None
            knew_answer = (
                attempt is not None and answer is not None and _knew(attempt, answer, call)
            )
            is_own_repeat = attempt is not None and (attempt.number, call.said) in paid_calls
            yield Repeat(job.id, call, is_needed=not knew_answer and not is_own_repeat)
        if attempt is not None:
            paid_calls.add((attempt.number, call.said))


def _attempt(
    tried: Sequence[RecordedAttempt], call: Called, paid_calls: AbstractSet[tuple[int, str]]
) -> RecordedAttempt | None:
    """The attempt that made the call: one of that worker, or else of any worker, that had begun
    by then.

    It is the last such attempt, or an earlier one that was cut short and has not paid for this call
    yet (`paid_calls`). A worker may claim a job again that it has just lost, and the log has a call
    when the provider comes to it, on a busy machine seconds after it was sent. A process that was
    made for one job asks by the name of the worker that made it.
    """
    started = [attempt for attempt in tried if attempt.started_ms <= call.at.wall * 1000]
    lone = {after.number for before, after in pairwise(tried) if before.next_alone}
    callers = [
        attempt for attempt in started if attempt.pid == call.caller or attempt.number in lone
    ]
    for earlier in callers[:-1]:
        if earlier.cut_short and (earlier.number, call.said) not in paid_calls:
            return earlier
    candidates = callers or started
    return candidates[-1] if candidates else None


def _knew(attempt: RecordedAttempt, answer: Event, call: Called) -> bool:
    """Whether the attempt had found the answer on record, or had put it there itself."""
    written = answer.epoch == attempt.number and answer.at <= call.at.wall * 1000
    return written or answer.at < attempt.started_ms


def repeated_for_nothing(case: ChaosCase) -> Iterator[Finding]:
    """A finished call is not made again; a lost attempt costs the one call in flight at most."""
    repeated = repeats(case)
    for repeat in repeated:
        if not repeat.is_needed:
            text = f"a call on record was made again by {repeat.call.caller or 'a worker'}"
            yield repeat.job_id, text
    for job in case.jobs:
        needed_count = sum(repeat.is_needed for repeat in repeated if repeat.job_id == job.id)
        cut_short = max(len(case.attempts[job.id]) - 1, 0)
        if needed_count > cut_short:
            yield (
                job.id,
                f"{needed_count} calls were made again, {cut_short} attempts were cut short",
            )


def billed_once(case: ChaosCase) -> Iterator[Finding]:
    """Every call in the events is charged, and no more is charged than was asked. A reply that was
    cut is charged by itself."""
    for job in case.jobs:
        reported = {event.data["call"] for event in job.events if event.kind == "model_called"}
        charged = job.charges
        if job.retry_of is None and (free := reported - charged):
            yield job.id, f"{len(free)} calls are in the events and not charged"
        answered = {call for call in charged if not call.startswith(LOST_CALL)}
        calls = case.calls_by_job.get(job.id)
        if calls and job.id not in case.inherited and len(answered) > len(calls):
            yield job.id, f"{len(calls)} calls were made, {len(answered)} charged"
