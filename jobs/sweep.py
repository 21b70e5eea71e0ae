"""Sweep: visits every job that is due, and every review that has to be announced or has expired."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from jobs.commits import Commits
from jobs.errors import StoreUnavailable
from jobs.model.events import describe_progress
from jobs.model.record import JobRecord
from jobs.transitions import expiry, lifecycle
from jobs.transitions.change import Change, Refusal


class IndexScan:
    """One pass through an index of jobs.

    A job that is handled leaves the index. A job that stays in the index is visited once, and does
    not delay the others. `list_ids(n)` lists the first n ids of the index.
    """

    def __init__(self, list_ids: Callable[[int], Awaitable[Sequence[str]]]) -> None:
        self._list_ids = list_ids
        self._remaining: set[str] = set()
        self._errors: list[BaseException] = []

    async def next_ids(self, limit: int) -> Sequence[str]:
        """The first `limit` jobs that were not visited."""
        job_ids = await self._list_ids(limit + len(self._remaining))
        return [job_id for job_id in job_ids if job_id not in self._remaining][:limit]

    async def visit(
        self, job_ids: Sequence[str], visit_job: Callable[[str], Awaitable[bool]]
    ) -> int:
        """Visit these jobs concurrently; returns the number of handled jobs. Raises
        StoreUnavailable."""
        outcomes = await asyncio.gather(*map(visit_job, job_ids), return_exceptions=True)
        for job_id, outcome in zip(job_ids, outcomes, strict=True):
            if isinstance(outcome, StoreUnavailable):
                raise outcome
            if isinstance(outcome, BaseException):
                outcome.add_note(f"job {job_id}")
                self._errors.append(outcome)
            if outcome is not True:
                self._remaining.add(job_id)
        return sum(outcome is True for outcome in outcomes)

    def raise_first_error(self) -> None:
        """Raise the error of the first job that failed."""
        for error in self._errors:
            raise error


async def sweep(commits: Commits, concurrency: int) -> int:
    """Sweep once; returns the number of changed jobs. `concurrency` jobs are visited at the same
    time."""
    store = commits.store
    due, overdue = IndexScan(store.due), IndexScan(store.overdue)
    swept_jobs = await _visit_all(due, lambda job_id: _sweep_job(commits, job_id), concurrency)
    reviews = await _visit_all(overdue, lambda job_id: _sweep_review(commits, job_id), concurrency)
    due.raise_first_error()
    overdue.raise_first_error()
    return swept_jobs + reviews


async def _visit_all(
    scan: IndexScan, visit_job: Callable[[str], Awaitable[bool]], concurrency: int
) -> int:
    total = 0
    while job_ids := await scan.next_ids(concurrency):
        total += await scan.visit(job_ids, visit_job)
        if len(job_ids) < concurrency:
            break
    return total


async def _sweep_job(commits: Commits, job_id: str) -> bool:
    store = commits.store
    loaded = await store.load(job_id)
    alone = loaded is not None and loaded.record.lease is not None and loaded.record.lease.alone
    progress = describe_progress(await store.events(job_id)) if alone else ""
    first = loaded is None or await _is_first_in_line(commits, loaded.record)
    outcome = await commits.change(
        job_id,
        lambda record, now: _decide(record, now, progress, first=first),
        loaded_before=loaded,
        send_hints=False,
    )
    if isinstance(outcome, Refusal):
        return False
    if outcome.status.final or first:  # other jobs of the line wait for their turn, not for a hint
        await commits.send_hints(outcome)
    return True


async def _is_first_in_line(commits: Commits, record: JobRecord) -> bool:
    head = await commits.store.next_in_line(record.tenant, record.conversation_id)
    return head in (None, record.id)


async def _sweep_review(commits: Commits, job_id: str) -> bool:
    outcome = await commits.change(job_id, expiry.sweep_review)
    return isinstance(outcome, JobRecord)


def _decide(record: JobRecord, now: int, progress: str, *, first: bool) -> Change | Refusal:
    if record.lease is not None:
        return lifecycle.expire(record, now, progress=progress)
    return lifecycle.hint(record, now) if first else lifecycle.postpone_in_line(record, now)
