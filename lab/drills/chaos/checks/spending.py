"""J13: each paid call is on record once, and is not repeated."""

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
    """A repeated call."""

    job_id: str
    call: Called
    is_needed: bool
    """Whether the repeat was needed: the earlier answer was not on record, because the call was in
    flight when its worker was lost. False: the repeat was paid for nothing.
    """


def repeats(case: ChaosCase) -> list[Repeat]:
    """Every model call that was made more than once.

    The calls of a job have a fixed order, so the nth different request is the nth call on record.
    An attempt must not repeat a call that was on record at its start, nor make a call twice. A
    frozen worker may wake and repeat a call that another worker has made since.
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
    """The attempt that made the call: an attempt of the calling worker, or else of any worker, that
    started before the call.

    It is the last such attempt, or an earlier attempt that was cut short and has not paid for this
    call yet (`paid_calls`). A worker may claim a job again that it has just lost. The log has a
    call when it arrives at the provider, on a busy machine seconds after it was sent. A process for
    a single job calls under the name of the worker that started it.
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
    """Whether the attempt found the answer on record, or recorded the answer itself."""
    written = answer.epoch == attempt.number and answer.at <= call.at.wall * 1000
    return written or answer.at < attempt.started_ms


def repeated_for_nothing(case: ChaosCase) -> Iterator[Finding]:
    """A finished call is not repeated. A lost attempt costs at most the one call in flight."""
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
    """Every call in the events is charged, and there are not more charges than calls. A reply that
    was cut off is charged separately.
    """
    for job in case.jobs:
        reported = {event.data["call"] for event in job.events if event.kind == "model_called"}
        charged = job.charges
        if job.retry_of is None and (free := reported - charged):
            yield job.id, f"{len(free)} calls are in the events and not charged"
        answered = {call for call in charged if not call.startswith(LOST_CALL)}
        calls = case.calls_by_job.get(job.id)
        if calls and job.id not in case.inherited and len(answered) > len(calls):
            yield job.id, f"{len(calls)} calls were made, {len(answered)} charged"
