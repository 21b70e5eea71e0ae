"""J4, J5, J7, J14: one lease at a time, fenced writes, counted crashes, no sandbox left over."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from jobs.model.record import Reason
from lab.drills.chaos.checks.attempts import LETS_GO, WORK
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Left

ALONE = 3
"""The crash that makes poison: two in a row, then one in a process of its own."""


def held_once(case: ChaosCase) -> Iterator[Finding]:
    """J4: an attempt begins when no other is under way, and raises the epoch."""
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
    """J5: work is reported by the holder of the lease, and by nobody else: neither while nobody
    holds the job, nor, where events have an epoch, while another does.
    """
    for job in case.jobs:
        holder: int | None = None
        retry_job = job.retry_of is not None  # it has events before it begins
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
    """J7: each lost lease counts, from one again where something was finished before it."""
    for job in case.jobs:
        before = 0
        for attempt in case.attempts[job.id]:
            if attempt.end is None or attempt.end.kind != "lease_lost":
                before = 0
                continue
            reported = attempt.end.data["crashes"]
            # a call may be finished without an event: then it counts from one, too
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
    """No process was found that should have ended."""
    for entry in case.all(Left):
        yield "", f"process {entry.pid} ({entry.command}) {entry.why}"
