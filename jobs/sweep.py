"""Sweep: visits every job that is due, and every review whose time is over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from jobs.commits import Commits
from jobs.errors import StoreUnavailable
from jobs.model.events import last_known
from jobs.model.record import JobRecord
from jobs.transitions import expiry, lifecycle
from jobs.transitions.change import Change, Refusal


class IndexScan:
    """A job that is handled leaves the index. A job that stays in it is visited once, and does not
    hold up the others. `found` lists the first so many.
    """

    def __init__(self, found: Callable[[int], Awaitable[Sequence[str]]]) -> None:
        self._found = found
        self._stayed: set[str] = set()
        self._wrong: list[BaseException] = []

    async def next(self, many: int) -> Sequence[str]:
        """The first so many that were not visited."""
        listed = await self._found(many + len(self._stayed))
        return [job_id for job_id in listed if job_id not in self._stayed][:many]

    async def visit(self, job_ids: Sequence[str], look: Callable[[str], Awaitable[bool]]) -> int:
        """Visit these concurrently; how many were handled. Raises StoreUnavailable."""
        looks = await asyncio.gather(*map(look, job_ids), return_exceptions=True)
        for job_id, each in zip(job_ids, looks, strict=True):
            if isinstance(each, StoreUnavailable):
                raise each
            if isinstance(each, BaseException):
                each.add_note(f"job {job_id}")
                self._wrong.append(each)
            if each is not True:
                self._stayed.add(job_id)
        return sum(each is True for each in looks)

    def end(self) -> None:
        """Raise the error of the first that failed."""
        for error in self._wrong:
            raise error


async def sweep(commits: Commits, together: int) -> int:
    """How many jobs were changed; `together` are visited concurrently."""
    store = commits.store
    due, overdue = IndexScan(store.due), IndexScan(store.overdue)
    swept = await _all(due, lambda job_id: _look(commits, job_id), together)
    reviews = await _all(overdue, lambda job_id: _look_at_review(commits, job_id), together)
    due.end()
    overdue.end()
    return swept + reviews


async def _all(scan: IndexScan, look: Callable[[str], Awaitable[bool]], together: int) -> int:
    total = 0
    while job_ids := await scan.next(together):
        total += await scan.visit(job_ids, look)
        if len(job_ids) < together:
            break
    return total


async def _look(commits: Commits, job_id: str) -> bool:
    store = commits.store
    loaded = await store.load(job_id)
    alone = loaded is not None and loaded.record.lease is not None and loaded.record.lease.alone
    place = last_known(await store.events(job_id)) if alone else ""
    first = loaded is None or await _first(commits, loaded.record)
    swept = await commits.change(
        job_id,
        lambda record, now: _step(record, now, place, first=first),
        known=loaded,
        nudges=False,
    )
    if isinstance(swept, Refusal):
        return False
    if swept.status.final or first:  # others wait for their turn, not for a hint
        await commits.nudge(swept)
    return True


async def _first(commits: Commits, record: JobRecord) -> bool:
    head = await commits.store.next_in_line(record.tenant, record.conversation_id)
    return head in (None, record.id)


async def _look_at_review(commits: Commits, job_id: str) -> bool:
    looked = await commits.change(job_id, expiry.look)
    return isinstance(looked, JobRecord)


def _step(record: JobRecord, now: int, place: str, *, first: bool) -> Change | Refusal:
    if record.lease is not None:
        return lifecycle.expire(record, now, place=place)
    return lifecycle.hint(record, now) if first else lifecycle.in_line(record, now)
