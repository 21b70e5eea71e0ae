"""J1, J2, J6: each accepted job is stored, exists once and ends once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from jobs.model.events import FINAL_KINDS
from jobs.model.record import Status
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Retried, Seen, Submitted


def lost(case: ChaosCase) -> list[str]:
    """The ids of accepted jobs that are not on record, or that have neither ended nor wait for a
    person.
    """
    accepted = {entry.job_id for entry in case.all(Submitted) if entry.granted}
    accepted |= {entry.retry_job for entry in case.all(Retried) if entry.granted}
    return sorted(job_id for job_id in accepted if job_id and not _at_rest(case, job_id))


def finished_twice(case: ChaosCase) -> list[str]:
    """The ids of jobs that have more than one final event."""
    return sorted(job.id for job in case.jobs if len(_ends(job)) > 1)


def accepted_jobs_exist(case: ChaosCase) -> Iterator[Finding]:
    """J1: after an answer 2xx, the job ends, or waits for a person."""
    for job_id in lost(case):
        job = case.reading.jobs.get(job_id)
        yield job_id, f"accepted, and still {job.status}" if job else "accepted, and not on record"


def once(case: ChaosCase) -> Iterator[Finding]:
    """J2: a key with one body creates one job; the same key with another body is refused."""
    by_key: dict[str, list[Submitted]] = defaultdict(list)
    for entry in case.all(Submitted):
        by_key[entry.key].append(entry)
    for key, submissions in by_key.items():
        granted = [entry for entry in submissions if entry.granted]
        ids = sorted({str(entry.job_id) for entry in granted})
        if len(ids) > 1:
            yield ids[0], f"key {key} stands for {len(ids)} jobs: {ids}"
        if len({entry.body for entry in granted}) > 1:
            yield ids[0], f"key {key} was taken with another body"
    yield from _unknown(case)


def _unknown(case: ChaosCase) -> Iterator[Finding]:
    """Jobs without an answer or a key that explains them: their submission was carried out
    twice.
    """
    stands = case.reading.indexes.once
    keys = {entry.key for entry in case.all(Submitted)}
    explained = {entry.job_id for entry in case.all(Submitted) if entry.granted}
    explained |= {job_id for key, job_id in stands.items() if key in keys}
    for job in case.jobs:
        if job.id not in explained and job.retry_of is None:
            yield job.id, "on record, but none of the drill's keys stands for it"


def final_once(case: ChaosCase) -> Iterator[Finding]:
    """J6: a job has one final event, which is its last, and its final state never changes."""
    looks = case.by_job(Seen)
    for job in case.jobs:
        ends = _ends(job)
        if len(ends) > 1:
            yield job.id, f"ended {len(ends)} times: {', '.join(ends)}"
        if ends and job.events[-1].kind not in FINAL_KINDS:
            yield job.id, f"{job.events[-1].kind} came after its end"
        if (job.status.final or ends) and ends[-1:] != [job.status]:
            yield job.id, f"it is {job.status}, its events say {ends or 'no end'}"
        final = [entry.status for entry in looks.get(job.id, ()) if Status(entry.status).final]
        if changed := sorted({status for status in final if status != job.status}):
            yield job.id, f"it is {job.status}, and was {', '.join(changed)}"
        yield from _revived(job, [entry.status for entry in looks.get(job.id, ())])


def _revived(job: JobRead, statuses: list[str]) -> Iterator[Finding]:
    for before, after in pairwise(statuses):
        if Status(before).final and not Status(after).final:
            yield job.id, f"it was {before}, and then {after}"


def _ends(job: JobRead) -> list[str]:
    return [event.kind for event in job.events if event.kind in FINAL_KINDS]


def _at_rest(case: ChaosCase, job_id: str) -> bool:
    job = case.reading.jobs.get(job_id)
    return job is not None and (job.status.final or job.status is Status.AWAITING_REVIEW)
