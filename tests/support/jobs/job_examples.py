"""Jobs for tests: specs, records in each state, and operations with readable hints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jobs.model.record import JobRecord, Result
from jobs.model.review import Action, Decision, Review, ReviewKind
from jobs.model.spec import JobSpec, Priority
from jobs.service import Operations, Submission
from jobs.store import LeaseRef
from jobs.store.redis_store import RedisStore
from jobs.transitions import lifecycle
from jobs.transitions.lifecycle import Change, Policy, Refusal

TENANT = "acme"
NOW = 1_700_000_000_000
RESULT = Result(answer="42", approved_by="critic")
_TEXT = {"text": "", "dropped_bytes": 0, "digest": None}
EXPERIMENT = {
    "replaced": ["a.py", "b.py"], "still_green": True, "end": "exited", "exit_code": 0,
    "stdout": {**_TEXT, "text": "1 passed"}, "stderr": _TEXT, "seconds": 0.1,
}  # fmt: skip
BEFORE = {**EXPERIMENT, "kind": "before", "still_green": False, "undecided": False, "exit_code": 1}
UNDECIDED = {**BEFORE, "kind": "unloadable", "replaced": ["c.py"], "undecided": True,
             "end": "timeout", "exit_code": None}  # fmt: skip
MUTATION = {"path": "a.py", "line": 12, "before": "    if n < 3:", "after": "    if n <= 3:"}
VERIFIED = {
    "revision": 1, "source": "model", "command": "pytest -q", "run": "r2", "holds": False,
    "problem": "it does not use a.py", "experiments": [EXPERIMENT, BEFORE, UNDECIDED],
    "workspace": "0" * 64,
    "strength": {"noticed": 7, "tried": 8, "untried": 12, "unnoticed": [MUTATION]},
    "functions": {"executed": ["a.py::f"], "not_executed": ["a.py::g"]},
    "notes": ["The verification does not exercise b.py."], "own_word": True,
    "judged_by": "exit_code",
}  # fmt: skip


@dataclass
class JobService:
    """Operations over a store, and the hints that they sent."""

    store: RedisStore
    lease_ms: int = 15_000
    hints: list[tuple[str, Priority]] = field(default_factory=list)

    def __post_init__(self) -> None:
        policy = Policy(lease_ms=self.lease_ms)
        self.operations = Operations(
            self.store,
            lambda record: self.hints.append((record.id, record.spec.priority)),
            policy,
        )

    async def submit(self, task: str = "add 1 and 1", **fields: Any) -> JobRecord:
        """Submit a job, which then waits."""
        submitted = await self.operations.submit(TENANT, JobSpec(task, **fields), by="ann")
        assert isinstance(submitted, Submission)
        return submitted.record

    async def running(self, **fields: Any) -> JobRecord:
        """Submit a job and claim it for a worker."""
        return await self.claim((await self.submit(**fields)).id)

    async def claim(self, job_id: str, **how: Any) -> JobRecord:
        """Claim a job; fails if the claim is refused."""
        return job(await self.operations.claim(job_id, "worker-1", **how))

    async def record(self, job_id: str) -> JobRecord:
        """The present record of a job."""
        loaded = await self.store.load(job_id)
        assert loaded is not None
        return loaded.record

    async def kinds(self, job_id: str) -> list[str]:
        """The kinds of a job's events, in order."""
        return [event.kind for event in await self.store.events(job_id)]


def job(answer: JobRecord | Submission | Refusal) -> JobRecord:
    """The record after an operation; fails if the operation was refused."""
    record = answer.record if isinstance(answer, Submission) else answer
    assert isinstance(record, JobRecord), record
    return record


def lease_of(record: JobRecord) -> LeaseRef:
    """The lease of a claimed record."""
    return LeaseRef(record.id, record.epoch)


def review(name: str = "r1", *, unproven: str | None = None) -> Review:
    """A review; `unproven` is the reason why the work is not verified."""
    payload = {"plan": ["one", "two"], "answer": "42", "unproven": unproven}
    return Review(name, ReviewKind.REVIEW, payload, NOW)


def decision(name: str = "r1", action: Action = Action.APPROVE, **fields: Any) -> Decision:
    """The decision of the person `bob`."""
    return Decision(name, action, "bob", **fields)


def queued(job_id: str = "j1", **fields: Any) -> JobRecord:
    """The record of a job that was just submitted."""
    change = lifecycle.submit(
        job_id, TENANT, JobSpec("add 1 and 1", **fields), NOW, by="ann", request_id="req"
    )
    return change.after


def claimed(record: JobRecord, now: int = NOW, *, alone: bool = False) -> JobRecord:
    """The record with a lease."""
    change = lifecycle.claim(record, now, worker="worker-1", policy=Policy(), alone=alone)
    assert isinstance(change, Change)
    return change.after
