"""Listing: queries over many jobs in Redis. Jobs that are due, pages of a listing, counts.

See ADR 31.
"""

from __future__ import annotations

import asyncio
import json
import time
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from redis.asyncio import Redis

from jobs.model.codec import read_record
from jobs.model.people import PERSON, identity_of
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobKind, Priority
from jobs.queue.admission import SystemLoad
from jobs.redis import keys
from jobs.redis.connection import Clock, await_redis, decode_hash, read_script
from jobs.redis.keys import JobKeys
from jobs.store.search import JOBS_PER_STEP, WordIndex, words_of_search
from jobs.store.spending import read_charges
from jobs.store.types import Charge, Cursor, JobPage
from jobs.transitions.review_rules import NAMED, named_approver
from jobs.view.inbox import Order, WaitingReview

INDEX_STEPS_BEFORE_SEARCH = 5
"""The steps in which a search first moves new jobs into the index of words."""
MAX_INBOX = 10_000
"""The most reviews of an inbox that are sorted."""
LOOKUPS_PER_CALL = 500
"""The lookups of one call of lua/find.lua: it blocks Redis for a millisecond or two."""


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """How often one search may look up whether a set has a job."""

    lookups: int = 40_000
    """The most lookups to fill the page."""
    counting_lookups: int = 5_000
    """Up to this number, the search also counts the jobs that follow the page."""


@dataclass(frozen=True, slots=True)
class Period:
    """A period in ms; None: no bound."""

    start: int | None = None
    """Inclusive."""
    end: int | None = None
    """Exclusive."""


ALWAYS = Period()


@dataclass(frozen=True, slots=True)
class BatchJob:
    """The status and the cost of a job of a batch."""

    id: str
    status: Status
    charges: Sequence[Charge]


@dataclass(frozen=True, slots=True)
class _Matches:
    """The jobs of a page: see `JobPage`."""

    ids: Sequence[str]
    total: int
    next: Cursor | None
    is_exact: bool = True


class Listing(Clock):
    """A part of RedisStore."""

    def __init__(self, redis: Redis, bounds: SearchBounds | None = None) -> None:
        super().__init__(redis)
        self._bounds = bounds or SearchBounds()
        self._words = WordIndex(redis)
        self._turn = asyncio.Lock()
        self._listed = redis.register_script(read_script("listed"))
        self._find = redis.register_script(read_script("find"))

    async def due(self, limit: int) -> Sequence[str]:
        """Ids of jobs that need a hint, or that have an expired lease."""
        return await self._ids(keys.DUE, str(await self.now()), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """Ids of jobs with a review that has to be announced again or has expired."""
        return await self._ids(keys.AWAITING_REVIEW, str(await self.now()), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """Ids of final jobs that ended before `before` (ms), the oldest first."""
        return await self._ids(keys.FINISHED, f"({before}", limit)

    async def _ids(self, index: str, highest: str, limit: int) -> Sequence[str]:
        job_ids = await await_redis(self._listed(keys=[index], args=[highest, limit, keys.JOB]))
        return [job_id.decode() for job_id in job_ids]

    async def page(
        self,
        tenant: str,
        *,
        limit: int,
        offset: int,
        status: Status | None = None,
        text: str = "",
        kind: JobKind = JobKind.TASK,
        override: bool = False,
        waits_for: Collection[str] | None = None,
        period: Period = ALWAYS,
        oldest_first: bool | None = None,
        order: Order = Order.WAIT,
        assignee: str = "",
        cursor: Cursor | None = None,
        **values: str | None,
    ) -> JobPage:
        """A tenant's jobs that match all arguments: with `oldest_first` (or not) in the order of
        their submission, otherwise with `waits_for` in the `order` of the inbox, otherwise newest
        first.

        `text`: a search (see `jobs.store.search`). `override`: only jobs with an approval that
        overrode their evidence. `waits_for`: only jobs that wait for the decision of the person
        with these identity keys (see `jobs.model.people`), and of these only the reviews of the
        `assignee`, if there is a name. `period`: when the jobs were submitted. `cursor`: only jobs
        after it; then `offset` is 0.
        `values`: a `label`, a `person`, a `model`, the name of a `repository`, the id of a
        `conversation` or of a `batch`; None: any. `conversations=""`: the first jobs of
        conversations."""
        conditions = [("status", status), *values.items(), ("override", "" if override else None)]
        if waits_for is not None:
            conditions.append(("status", Status.AWAITING_REVIEW))
        groups = await self._groups(tenant, kind, conditions, text)
        newest_first = not oldest_first
        if groups is None:
            matches = _Matches((), 0, None)
        elif waits_for is not None and oldest_first is None:
            entries, total, is_exact = await self.inbox(
                tenant, waits_for, order, assignee, groups, period
            )
            matches = _inbox_page(entries, limit, offset, order, cursor)
            matches = replace(matches, total=total, is_exact=is_exact)
        elif len(groups) == 1 and waits_for is None and period == ALWAYS:
            matches = await self._page_of_listing(
                tenant, groups[0][0], limit, offset, newest_first=newest_first, cursor=cursor
            )
        else:
            sets = await self._sets_of_search(tenant, groups, waits_for or ())
            matches = await self._search(
                period, sets, limit, offset, newest_first=newest_first, cursor=cursor
            )
        return await self._load_page(matches)

    async def _groups(
        self, tenant: str, kind: JobKind, conditions: Iterable[tuple[str, str | None]], text: str
    ) -> list[list[str]] | None:
        """The sets of a page, in groups: a job is in one set of each group. None: no job has the
        words of the `text`."""
        listings = dict.fromkeys(
            keys.listing(tenant, field, value, kind=kind)
            for field, value in conditions
            if value is not None
        )
        groups = [[name] for name in listings or [keys.listing(tenant, kind=kind)]]
        word_sets = await self._job_sets(tenant, words_of_search(text)) if text else []
        return None if word_sets is None else groups + word_sets

    async def _page_of_listing(
        self,
        tenant: str,
        listing: str,
        limit: int,
        offset: int,
        *,
        newest_first: bool,
        cursor: Cursor | None,
    ) -> _Matches:
        """A page of all jobs of one listing."""
        if cursor is None:
            return await self._slice(listing, limit, offset, newest_first=newest_first)
        sets = await self._sets_of_search(tenant, [[listing]], ())
        matches = await self._search(
            ALWAYS, sets, limit, offset, newest_first=newest_first, cursor=cursor, counts=False
        )
        total = await await_redis(self.redis.zcard(listing))
        return replace(matches, total=total, is_exact=True)

    async def inbox(
        self,
        tenant: str,
        waits_for: Collection[str],
        order: Order,
        assignee: str = "",
        groups: Sequence[Sequence[str]] = (),
        period: Period = ALWAYS,
    ) -> tuple[list[WaitingReview], int, bool]:
        """The reviews that wait for a person, without their records; their number, and whether it
        is exact. `waits_for`, `assignee`: see `page`. `groups`: see lua/find.lua; by default all
        tasks that wait."""
        groups = groups or [[keys.listing(tenant, "status", Status.AWAITING_REVIEW)]]
        sets = await self._sets_of_search(tenant, groups, waits_for)
        matches = await self._search(period, sets, MAX_INBOX, 0, newest_first=False)
        total, ids = matches.total, matches.ids
        stored = await await_redis(self.redis.hmget(keys.reviews(tenant), ids)) if ids else ()
        entries = sorted(map(WaitingReview.read, ids, stored), key=order.position)
        if assignee:
            person = identity_of(assignee)
            entries = [entry for entry in entries if identity_of(entry.assignee) == person]
            total = len(entries)
        return entries, total, matches.is_exact

    async def _sets_of_search(
        self, tenant: str, groups: Sequence[Sequence[str]], waits_for: Collection[str]
    ) -> list[str | int]:
        """The sets of a search, as lua/find.lua takes them."""
        sets: list[str | int] = [len(groups)]
        persons = [named_approver(key) for key in waits_for if key.startswith(PERSON)]
        marks = [NAMED, *persons] if waits_for else []
        approver_sets = [keys.ineligible_approvers(tenant, mark) for mark in marks]
        for group in (*groups, await self._sets_without_vote(tenant, waits_for), approver_sets):
            sets += [len(group), *group]
        return sets

    async def count_ahead(self, record: JobRecord) -> int:
        """The number of its tenant's queued jobs that workers take before this queued job: those of
        a higher priority, and older ones of the same priority. Jobs that wait for another job of
        their conversation are left out."""
        priority, priorities = record.spec.priority, list(Priority)
        async with self.redis.pipeline(transaction=False) as pipe:
            for higher in priorities[: priorities.index(priority)]:
                pipe.zcard(keys.queue(record.tenant, higher))
            pipe.zcount(keys.queue(record.tenant, priority), "-inf", f"({record.created_at}")
            return sum(await await_redis(pipe.execute()))

    async def _sets_without_vote(self, tenant: str, identity_keys: Collection[str]) -> list[str]:
        """The sets of jobs that a person may not approve. Empty sets are left out: a person may
        have made hundreds of keys, and a search looks into each set."""
        names = sorted(keys.ineligible_approvers(tenant, mark) for mark in identity_keys)
        async with self.redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.exists(name)
            existing = await await_redis(pipe.execute())
        return [name for name, exists in zip(names, existing, strict=True) if exists]

    async def _search(
        self,
        period: Period,
        sets: Sequence[str | int],
        limit: int,
        offset: int,
        *,
        newest_first: bool,
        cursor: Cursor | None = None,
        counts: bool = True,
    ) -> _Matches:
        """Search for a page. `counts`: also count the jobs that follow it. If the search ends at
        its bound, the next page continues the search."""
        order = "newest" if newest_first else "oldest"
        ends = (period.end, period.start) if newest_first else (period.start, period.end)
        score, end = ("" if at is None else at for at in ends)
        last_id, count = "", 0
        if cursor is not None:
            score, last_id, count = cursor.at, cursor.id, cursor.count
        enough = offset + limit + 1  # one match after the page shows that there are more
        lookups, total, page, is_last = 0, 0, list[tuple[str, int]](), False
        while not is_last and lookups < self._bounds.lookups:
            counting = counts and lookups < self._bounds.counting_lookups
            max_matches = self._bounds.lookups if counting else enough - total
            if max_matches <= 0:
                break
            max_lookups = min(LOOKUPS_PER_CALL, self._bounds.lookups - lookups)
            args = [order, score, last_id, end, max_matches, max_lookups, *sets]
            used, score, last_id, is_last, jobs = await self._find_in_turn(args)
            lookups += used
            page += jobs[max(offset - total, 0) : max(offset + limit - total, 0)]
            total += len(jobs)
        following = None
        if page and total >= enough:
            last_id, score = page[-1]
        if total >= enough or not is_last:
            following = Cursor(int(score), last_id, count + min(total, offset + limit))
        return _Matches([job_id for job_id, _ in page], count + total, following, is_last)

    async def _find_in_turn(
        self, args: Sequence[str | int]
    ) -> tuple[int, int, str, bool, list[tuple[str, int]]]:
        """Call lua/find.lua once. The searches of a process take turns, and pause as long as each
        call took. So another command of Redis waits for at most one call."""
        async with self._turn:
            started_at = time.perf_counter()
            lookups, score, last_id, is_last, jobs = await await_redis(self._find(args=args))
            await asyncio.sleep(time.perf_counter() - started_at)
        matches = [(job_id.decode(), int(at)) for job_id, at in jobs]
        return lookups, int(score), last_id.decode(), bool(is_last), matches

    async def _job_sets(self, tenant: str, words: Sequence[str]) -> list[list[str]] | None:
        """The sets of jobs with each word; None if no job has one of the words."""
        for _ in range(INDEX_STEPS_BEFORE_SEARCH):
            if await self._words.index_new_jobs() < JOBS_PER_STEP:
                break
        groups = await self._words.job_sets(tenant, words)
        return groups if groups and all(groups) else None

    async def _slice(
        self, listing: str, limit: int, offset: int, *, newest_first: bool
    ) -> _Matches:
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.zcard(listing)
            # by rank and not by score: Redis walks to an offset by score step by step
            last = offset + max(limit, 1) - 1  # -1 is the last element
            pipe.zrange(listing, offset, last, desc=newest_first, withscores=True)
            total, rows = await await_redis(pipe.execute())
        page = [(job_id.decode(), int(at)) for job_id, at in rows[:limit]]
        end = offset + limit
        following = Cursor(page[-1][1], page[-1][0], end) if page and total > end else None
        return _Matches([job_id for job_id, _ in page], total, following)

    async def newest_repositories(self, tenant: str, limit: int) -> list[str]:
        """The URLs of the repositories of a tenant's newest `limit` tasks, each once. Only the
        specs of these tasks are read."""
        newest = await self._slice(keys.listing(tenant), limit, 0, newest_first=True)
        async with self.redis.pipeline(transaction=False) as pipe:
            for job_id in newest.ids:
                pipe.hget(JobKeys(job_id).record, "spec")
            specs = [json.loads(spec) for spec in await await_redis(pipe.execute()) if spec]
        urls = (spec["repo"].get("url") for spec in specs if spec.get("repo"))
        return list(dict.fromkeys(url for url in urls if url))

    async def jobs_of_batch(self, tenant: str, batch_id: str) -> list[BatchJob]:
        """The jobs of a batch, the oldest first."""
        ids = await await_redis(self.redis.zrange(keys.listing(tenant, "batch", batch_id), 0, -1))
        async with self.redis.pipeline(transaction=False) as pipe:
            for job_id in ids:
                job = JobKeys(job_id.decode())
                pipe.hget(job.record, "status")
                pipe.hgetall(job.charges)
            stored = await await_redis(pipe.execute())
        return [
            BatchJob(job_id.decode(), Status(status.decode()), read_charges(charges))
            for job_id, status, charges in zip(ids, stored[::2], stored[1::2], strict=True)
            if status
        ]

    async def changes(self, tenant: str) -> int:
        """How often a tenant's jobs were added, changed or removed. While the number is the same, a
        page of them is the same, except for costs."""
        return int(await await_redis(self.redis.hget(keys.CHANGES, tenant)) or 0)

    async def counts(self) -> Mapping[Status, int]:
        """The number of jobs by status, over all tenants."""
        counts = await self._counts()
        return {status: counts.get(status, 0) for status in Status}

    async def counts_of_tenant(self, tenant: str) -> Mapping[Status, int]:
        """The number of a tenant's jobs by status."""
        async with self.redis.pipeline(transaction=False) as pipe:
            for status in Status:
                pipe.zcard(keys.listing(tenant, "status", status))
            return dict(zip(Status, await await_redis(pipe.execute()), strict=True))

    async def queue_depth(self) -> Mapping[Priority, int]:
        """The number of jobs that wait for a worker, by priority, over all tenants. Jobs that wait
        for another job of their conversation are left out."""
        counts = await self._counts()
        return {
            priority: counts.get(keys.queued(priority), 0) - counts.get(f"behind:{priority}", 0)
            for priority in Priority
        }

    async def system_load(self, tenant: str) -> SystemLoad:
        """How full Redis and the tenant's queue are."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.info("memory")
            for kind in JobKind:
                pipe.zcard(keys.listing(tenant, "status", Status.QUEUED, kind=kind))
            pipe.hlen(keys.behind(tenant))
            memory, *queued, behind = await await_redis(pipe.execute())
        limit = int(memory.get("maxmemory") or memory.get("total_system_memory") or 0)
        return SystemLoad(int(memory["used_memory"]), limit, sum(queued) - behind)

    async def _counts(self) -> dict[str, int]:
        stored = await await_redis(self.redis.hgetall(keys.COUNTS))
        return {name.decode(): int(count) for name, count in stored.items()}

    async def _load_page(self, matches: _Matches) -> JobPage:
        """The jobs of a page that still exist, and their charges."""
        async with self.redis.pipeline(transaction=False) as pipe:
            for job_id in matches.ids:
                pipe.hgetall(JobKeys(job_id).record)
                pipe.hgetall(JobKeys(job_id).charges)
            hashes = await await_redis(pipe.execute())
        records = [read_record(decode_hash(fields)) for fields in hashes[::2] if fields]
        charges = {
            job_id: read_charges(fields)
            for job_id, fields in zip(matches.ids, hashes[1::2], strict=True)
        }
        return JobPage(records, matches.total, charges, matches.is_exact, matches.next)


def _inbox_page(
    entries: Sequence[WaitingReview],
    limit: int,
    offset: int,
    order: Order,
    cursor: Cursor | None,
) -> _Matches:
    """A page of an inbox. The time in its cursors is that of the review."""
    if cursor is not None:
        position = order.position(WaitingReview(cursor.id, cursor.at))
        offset = bisect_right(entries, position, key=order.position)
    end = offset + limit
    page, following = entries[offset:end], None
    if page and end < len(entries):
        following = Cursor(page[-1].opened_at, page[-1].job_id, end)
    return _Matches([entry.job_id for entry in page], len(entries), following)
