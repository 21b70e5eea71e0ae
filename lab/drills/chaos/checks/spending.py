"""J13: what was paid is on record once, and is not paid again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import pairwise

from agents.calls.model_call import LOST_CALL
from jobs.model.events import Event
from lab.drills.chaos.checks.attempts import Attempt
from lab.drills.chaos.checks.case import Case, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Called


@dataclass(frozen=True, slots=True)
class Repeat:
    """A call that was made again. `needed`: no answer to it was on record, since it was in flight
    when its worker was lost; else it was paid for nothing."""

    job_id: str
    call: Called
    needed: bool


def repeats(case: Case) -> list[Repeat]:
    """Every model call that was made more than once.

    Calls of a job are made in an order, so that the nth thing asked is the nth call on record. An
    attempt must not ask what was on record when it began, nor ask anything twice; a worker that was
    frozen may wake to ask what another has asked meanwhile.
    """
    found: list[Repeat] = []
    for job_id, calls in case.called.items():
        job = case.reading.jobs.get(job_id)
        if job is not None and job_id not in case.inherited | case.anew:
            found += _repeats(job, case.attempts[job_id], calls)
    return found


def _repeats(job: JobRead, tried: Sequence[Attempt], calls: Sequence[Called]) -> Iterator[Repeat]:
    recorded = [event for event in job.events if event.kind == "model_called"]
    order: list[str] = []
    asked: set[tuple[int, str]] = set()
    for call in calls:
        again = call.said in order
        if not again:
            order.append(call.said)
        attempt = _attempt(tried, call, asked)
        if again:
            nth = order.index(call.said)
            answer = recorded[nth] if nth < len(recorded) else None
            known = attempt is not None and answer is not None and _knew(attempt, answer, call)
            own = attempt is not None and (attempt.number, call.said) in asked
            yield Repeat(job.id, call, needed=not known and not own)
        if attempt is not None:
            asked.add((attempt.number, call.said))


def _attempt(
    tried: Sequence[Attempt], call: Called, asked: AbstractSet[tuple[int, str]]
) -> Attempt | None:
    """Whose call it was: an attempt of that worker, or of any, that had begun by then.

    It is the last one, or one before that was cut short and has not `asked` this yet: a worker may
    claim a job again that it has just lost, and the log has a call when the provider comes to it,
    on a busy machine seconds after it was sent. A process made for a job asks by the name of the
    worker that made it.
    """
    begun = [attempt for attempt in tried if attempt.began <= call.at.wall * 1000]
    lone = {after.number for before, after in pairwise(tried) if before.next_alone}
    own = [each for each in begun if each.pid == call.caller or each.number in lone]
    for earlier in own[:-1]:
        if earlier.cut_short and (earlier.number, call.said) not in asked:
            return earlier
    candidates = own or begun
    return candidates[-1] if candidates else None


def _knew(attempt: Attempt, answer: Event, call: Called) -> bool:
    """Whether the attempt had found the answer on record, or had put it there itself."""
    written = answer.epoch == attempt.number and answer.at <= call.at.wall * 1000
    return written or answer.at < attempt.began


def repeated_for_nothing(case: Case) -> Iterator[Finding]:
    """A finished call is not made again; a lost attempt costs the one call in flight at most."""
    found = repeats(case)
    for each in found:
        if not each.needed:
            text = f"a call on record was made again by {each.call.caller or 'a worker'}"
            yield each.job_id, text
    for job in case.jobs:
        needed = sum(each.needed for each in found if each.job_id == job.id)
        cut_short = max(len(case.attempts[job.id]) - 1, 0)
        if needed > cut_short:
            yield job.id, f"{needed} calls were made again, {cut_short} attempts were cut short"


def billed_once(case: Case) -> Iterator[Finding]:
    """Every call in the events is charged, and no more is charged than was asked. A reply that was
    cut is charged by itself."""
    for job in case.jobs:
        reported = {event.data["call"] for event in job.events if event.kind == "model_called"}
        charged = job.charges
        if job.retry_of is None and (free := reported - charged):
            yield job.id, f"{len(free)} calls are in the events and not charged"
        answered = {call for call in charged if not call.startswith(LOST_CALL)}
        calls = case.called.get(job.id)
        if calls and job.id not in case.inherited and len(answered) > len(calls):
            yield job.id, f"{len(calls)} calls were made, {len(answered)} charged"
