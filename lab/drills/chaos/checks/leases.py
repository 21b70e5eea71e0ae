"""J4, J5, J7, J14: one lease at a time, fenced writes, counted crashes, no remaining sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobs.model.record import Reason
from lab.drills.chaos.checks.attempts import LETS_GO, WORK
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Left

ALONE = 3
"""The crash after which a job is poison: two in succession, then one in a separate process."""


def held_once(case: ChaosCase) -> Iterator[Finding]:
    """J4: an attempt starts only if no other attempt is active, and raises the epoch."""
    for job in case.jobs:
        tried = case.attempts[job.id]
        for before, after in pairwise(tried):
            if before.end is None:
                yield job.id, f"attempt {after.number} began while {before.number} had the lease"
        numbers = [attempt.number for attempt in tried]
        if numbers != list(range(1, len(numbers) + 1)):
            yield job.id, f"attempts are numbered {numbers}"
        if job.attempts != len(tried):
            yield (
                job.id,
                f"{len(tried)} attempts are in its events, its record counts {job.attempts}",
            )
        if job.epoch != len(tried):
            yield job.id, f"{len(tried)} claims made epoch {job.epoch}"
        if job.leased and (not tried or tried[-1].end is not None):
            yield job.id, "a lease is left, and nobody works on it"


def fenced(case: ChaosCase) -> Iterator[Finding]:
    """J5: only the holder of the lease reports work: no event comes while no attempt has the lease,
    and, if events have an epoch, none from another attempt.
    """
    for job in case.jobs:
        holder: int | None = None
        retry_job = job.retry_of is not None  # a retry has events before its first attempt
        for event in job.events:
            reported = f"{event.kind} (event {event.seq}) was written"
            if event.kind == "started":
                holder, retry_job = event.data["attempt"], False
            elif event.kind in LETS_GO:
                holder = None
            elif event.kind in WORK and holder is None and not retry_job:
                yield job.id, f"{reported} while nobody held the job"
            elif event.epoch is not None and event.epoch != holder:
                yield job.id, f"{reported} by attempt {event.epoch} while {holder} had the lease"


def crashes_counted(case: ChaosCase) -> Iterator[Finding]:
    """J7: each lost lease counts; the count starts at one again after a finished call."""
    for job in case.jobs:
        before = 0
        for attempt in case.attempts[job.id]:
            if attempt.end is None or attempt.end.kind != "lease_lost":
                before = 0
                continue
            reported = attempt.end.data["crashes"]
            # a call may finish without an event; then the count also starts at one
            allowed = {1} if attempt.progressed else {1, before + 1}
            if reported not in allowed:
                yield (
                    job.id,
                    f"attempt {attempt.number} was crash {reported}, after crash {before}",
                )
            before = reported
        yield from _poisoned(job, before)


def _poisoned(job: JobRead, crashes: int) -> Iterator[Finding]:
    if job.reason == Reason.POISONED and crashes < ALONE:
        yield job.id, f"poisoned after {crashes} crashes in a row"


def nothing_left(case: ChaosCase) -> Iterator[Finding]:
    """J14: no process was found that should have ended."""
    for entry in case.all(Left):
        yield "", f"process {entry.pid} ({entry.command}) {entry.why}"
