"""Case: the log and the reading side by side, as every check gets them. Pure."""

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
    """The deployment's settings, in seconds. `slack` is for a machine that is busy."""

    lease: float = 15.0
    heartbeat: float = 5.0
    sweep: float = 2.0
    slack: float = 2.0
    cancel: float = 2.0
    """Within it, no call follows the answer to a cancel (J11)."""
    start: float = 8.0
    """How long a process of its own takes to start, for a job that has to run alone (J7): 2.4 s of
    processor, while other processes also start after a kill."""
    grace: float = 10.0
    """How much later all may be when Redis was away: leases are then not taken back at once."""

    @property
    def recovery(self) -> float:
        """By when a dead worker's job runs again (J8)."""
        return self.lease + self.sweep + self.slack


Finding = tuple[str, str]
"""A job's id (empty: none in particular), and how it shows that a rule did not hold for it."""


@dataclass(frozen=True)
class ChaosCase:
    """All there is to judge by."""

    entries: Sequence[Entry]
    reading: Reading
    bounds: RecoveryBounds
    attempts: Mapping[str, Sequence[RecordedAttempt]] = field(init=False)
    """By job, from its events."""
    calls_by_job: Mapping[str, Sequence[Called]] = field(init=False)
    """The model calls of each job."""
    inherited: frozenset[str] = field(init=False)
    """Jobs that share their calls with a job that was retried, and these retried jobs."""
    anew: frozenset[str] = field(init=False)
    """Jobs that were begun anew."""

    def __post_init__(self) -> None:
        """Work out once what all checks want."""
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
        """The jobs that were read."""
        return self.reading.jobs.values()

    def all(self, kind: type[E]) -> list[E]:
        """The entries of a kind, in order."""
        return [entry for entry in self.entries if isinstance(entry, kind)]

    def by_job(self, kind: type[E]) -> dict[str, list[E]]:
        """The entries of a kind that name a job, by its id."""
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
