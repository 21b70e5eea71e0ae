"""ChaosCase: the log and the reading together, as every check receives them. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lab.drills.chaos.checks.attempts import RecordedAttempt, attempts
from lab.drills.chaos.deployment.reading import JobRead, Reading
from lab.drills.chaos.oplog import Called, Entry, Retried, Submitted

E = TypeVar("E", bound=Entry)


@dataclass(frozen=True, slots=True)
class RecoveryBounds:
    """The deployment's settings, in seconds. `slack` is an allowance for a busy machine."""

    lease: float = 15.0
    heartbeat: float = 5.0
    sweep: float = 2.0
    slack: float = 2.0
    cancel: float = 2.0
    """After this time from the answer to a cancel, no call may follow (J11)."""
    start: float = 8.0
    """The time for starting the separate process of a job that must run alone (J7): 2.4 s of
    processor time, while other processes also start after a kill.
    """
    grace: float = 10.0
    """The additional time after an outage of Redis, because expired leases are then not revoked at
    once.
    """

    @property
    def recovery(self) -> float:
        """The time in which a dead worker's job must run again (J8)."""
        return self.lease + self.sweep + self.slack


Finding = tuple[str, str]
"""A job's id (empty: no particular job), and a sentence that shows how the rule was broken."""


@dataclass(frozen=True)
class ChaosCase:
    """The data of a chaos run that the checks judge."""

    entries: Sequence[Entry]
    reading: Reading
    bounds: RecoveryBounds
    attempts: Mapping[str, Sequence[RecordedAttempt]] = field(init=False)
    """The attempts of each job, from its events."""
    calls_by_job: Mapping[str, Sequence[Called]] = field(init=False)
    """The model calls of each job."""
    inherited: frozenset[str] = field(init=False)
    """Jobs that share their calls with a job that was retried, and these retried jobs."""
    anew: frozenset[str] = field(init=False)
    """Jobs that were started again from their task."""

    def __post_init__(self) -> None:
        """Compute the values that several checks need."""
        attempts_by_job = {job.id: attempts(job.events) for job in self.reading.jobs.values()}
        object.__setattr__(self, "attempts", attempts_by_job)
        object.__setattr__(self, "calls_by_job", self._calls_by_job())
        retries = [(entry.job_id, entry.retry_job) for entry in self.all(Retried) if entry.granted]
        retries += [(job.retry_of, job.id) for job in self.jobs if job.retry_of]
        restarted_jobs = (
            job.id for job in self.jobs if any(e.kind == "begun_anew" for e in job.events)
        )
        object.__setattr__(self, "anew", frozenset(restarted_jobs))
        object.__setattr__(self, "inherited", frozenset(i for pair in retries for i in pair if i))

    @property
    def jobs(self) -> Iterable[JobRead]:
        """All jobs of the reading."""
        return self.reading.jobs.values()

    def all(self, kind: type[E]) -> list[E]:
        """The entries of a kind, in order."""
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def by_job(self, kind: type[E]) -> dict[str, list[E]]:
        """The entries of a kind that name a job, by the job's id."""
        entries: dict[str, list[E]] = defaultdict(list)
        for entry in self.all(kind):
            if job_id := getattr(entry, "job_id", None):
                entries[job_id].append(entry)
        return entries

    def _calls_by_job(self) -> dict[str, list[Called]]:
        """The calls by job id; a call that names a key belongs to the job submitted with it."""
        stands = dict(self.reading.indexes.once)
        stands |= {e.key: e.job_id for e in self.all(Submitted) if e.granted and e.job_id}
        calls: dict[str, list[Called]] = defaultdict(list)
        for entry in self.all(Called):
            if job_id := entry.job_id or stands.get(entry.key):
                calls[job_id].append(entry)
        return calls
