"""Queries over many jobs in Redis: which are due, pages of a listing, counts.

Why: docs/decisions/0031-searches-in-small-calls.md
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from redis.asyncio import Redis

from jobs import search_terms
from jobs.model.codec import read_record
from jobs.model.record import Status
from jobs.model.spec import Kind, Priority
from jobs.queue.admission import SystemLoad
from jobs.redis import keys
from jobs.redis.connection import Clock, ask, lua, texts
from jobs.redis.keys import JobKeys
from jobs.store.search import AT_ONCE, Words
from jobs.store.spending import listed
from jobs.store.types import Page

INDEXED_FIRST = 5
"""Steps of indexing that a search makes first, so that new jobs are found at once."""
LOOKS_A_CALL = 500
"""Lookups of one call: it blocks Redis for a millisecond or two."""


@dataclass(frozen=True, slots=True)
class SearchBounds:
    """How often one search may look whether a job lies in a set: `looks` to fill its page, and as
    long as there were not more than `counted`, it goes on to count what else there is."""

    looks: int = 40_000
    counted: int = 5_000


class Listing(Clock):
    """A part of RedisStore."""

    def __init__(self, redis: Redis, bounds: SearchBounds | None = None) -> None:
        super().__init__(redis)
        self._bounds = bounds or SearchBounds()
        self._words = Words(redis)
        self._one_call = asyncio.Lock()
        self._listed = redis.register_script(lua("listed"))
        self._find = redis.register_script(lua("find"))

    async def due(self, limit: int) -> Sequence[str]:
        """Ids of jobs that are due: they need a hint, or their lease has expired."""
        return await self._ids(keys.DUE, str(await self.now()), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """Ids of jobs whose review is to be looked at."""
        return await self._ids(keys.AWAITING_REVIEW, str(await self.now()), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """Ids of final jobs that ended before `before` (ms), the oldest first."""
        return await self._ids(keys.FINISHED, f"({before}", limit)

    async def _ids(self, index: str, most: str, limit: int) -> Sequence[str]:
        found = await ask(self._listed(keys=[index], args=[most, limit, keys.JOB]))
        return [job_id.decode() for job_id in found]

    async def page(
        self,
        tenant: str,
        *,
        limit: int,
        offset: int,
        status: Status | None = None,
        label: str | None = None,
        text: str = "",
        kind: Kind = Kind.TASK,
        waits_for: Collection[str] | None = None,
    ) -> Page:
        """A tenant's jobs, newest first, that match all arguments. `text`: the words of a search
        (see `jobs.search_terms`); `waits_for`: only jobs that wait for the decision of the person
        with these identity keys (see `jobs.model.people`), oldest first.
        """
        waits = {Status.AWAITING_REVIEW} if waits_for is not None else set[Status]()
        statuses = waits | ({status} if status is not None else set())
        listings = [keys.listing(tenant, status=each, kind=kind) for each in sorted(statuses)]
        if label is not None:
            listings.append(keys.listing(tenant, label=label, kind=kind))
        groups = [[name] for name in listings or [keys.listing(tenant, kind=kind)]]
        if text:
            found = await self._found(tenant, search_terms.asked(text))
            if found is None:
                return Page((), 0)
            groups += found
        excluded = await self._barred(tenant, waits_for or ())
        if len(groups) == 1 and waits_for is None:
            total, ids = await self._part_of(groups[0][0], limit, offset)
            return await self._shown(ids, total)
        order = "newest" if waits_for is None else "oldest"
        sets: list[str | int] = [len(groups)]
        for group in (*groups, excluded):
            sets += [len(group), *group]
        total, ids, exact = await self._searched(order, sets, limit, offset)
        return replace(await self._shown(ids, total), exact=exact)

    async def _barred(self, tenant: str, identity_keys: Collection[str]) -> list[str]:
        """The sets of jobs that these may not approve, without the sets that are empty: one person
        may have made hundreds of keys, and a search looks into each set."""
        names = sorted(keys.ineligible_approvers(tenant, each) for each in identity_keys)
        async with self.redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.exists(name)
            existing = await ask(pipe.execute())
        return [name for name, exists in zip(names, existing, strict=True) if exists]

    async def _searched(
        self, order: str, sets: Sequence[str | int], limit: int, offset: int
    ) -> tuple[int, list[bytes], bool]:
        """How many were found, those of the page, and whether there are no others."""
        enough = offset + limit + 1  # one beyond the page says that there are more
        looks, total, page = 0, 0, list[bytes]()
        score, last = "0", ""
        while looks < self._bounds.looks:
            counting = looks < self._bounds.counted
            wanted = self._bounds.looks if counting else enough - total
            if wanted <= 0:
                break
            bound = min(LOOKS_A_CALL, self._bounds.looks - looks)
            args = [order, score, last, wanted, bound, *sets]
            taken, score, last, over, ids = await self._find_alone(args)
            looks += taken
            page += ids[max(offset - total, 0) : max(offset + limit - total, 0)]
            total += len(ids)
            if over:
                return total, page, True
        return total, page, False

    async def _find_alone(
        self, args: Sequence[str | int]
    ) -> tuple[int, str, str, int, list[bytes]]:
        """One call. The searches of a process take turns and pause for as long as each call took,
        so another command waits for one search at most, however many there are."""
        async with self._one_call:
            begun = time.perf_counter()
            found = await ask(self._find(args=args))
            await asyncio.sleep(time.perf_counter() - begun)
        return cast("tuple[int, str, str, int, list[bytes]]", found)

    async def _found(self, tenant: str, asked: Sequence[str]) -> list[list[str]] | None:
        """The sets of jobs with each word; None where no job has one of the words."""
        for _ in range(INDEXED_FIRST):
            if await self._words.index() < AT_ONCE:
                break
        groups = await self._words.groups(tenant, asked)
        return groups if groups and all(groups) else None

    async def _part_of(self, listing: str, limit: int, offset: int) -> tuple[int, list[bytes]]:
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.zcard(listing)
            # by place and not by time: Redis walks to an offset by time step by step
            pipe.zrevrange(listing, offset, offset + max(limit, 1) - 1)  # -1 would be the last one
            total, ids = await ask(pipe.execute())
        return total, ids[:limit]

    async def changes(self, tenant: str) -> int:
        """How often a tenant's jobs were added, changed or removed: while it is the same, so is a
        page of them, except for costs."""
        return int(await ask(self.redis.hget(keys.CHANGES, tenant)) or 0)

    async def counts(self) -> Mapping[Status, int]:
        """How many jobs stand in each status, over all tenants."""
        found = await self._counts()
        return {status: found.get(status, 0) for status in Status}

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """How many of a tenant's jobs stand in each status."""
        async with self.redis.pipeline(transaction=False) as pipe:
            for status in Status:
                pipe.zcard(keys.listing(tenant, status=status))
            return dict(zip(Status, await ask(pipe.execute()), strict=True))

    async def queue_depth(self) -> Mapping[Priority, int]:
        """How many jobs wait for a worker in each priority, over all tenants. What waits for
        another job of its conversation is left out."""
        found = await self._counts()
        return {
            each: found.get(keys.queued(each), 0) - found.get(f"behind:{each}", 0)
            for each in Priority
        }

    async def load_now(self, tenant: str) -> SystemLoad:
        """How full the store is for a tenant."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.info("memory")
            for kind in Kind:
                pipe.zcard(keys.listing(tenant, status=Status.QUEUED, kind=kind))
            pipe.hlen(keys.behind(tenant))
            memory, *queued, behind = await ask(pipe.execute())
        most = int(memory.get("maxmemory") or memory.get("total_system_memory") or 0)
        return SystemLoad(int(memory["used_memory"]), most, sum(queued) - behind)

    async def _counts(self) -> dict[str, int]:
        stored = await ask(self.redis.hgetall(keys.COUNTS))
        return {name.decode(): int(count) for name, count in stored.items()}

    async def _shown(self, found_ids: Sequence[bytes], total: int) -> Page:
        """The jobs with these ids, and what was paid for them."""
        ids = [job_id.decode() for job_id in found_ids]
        async with self.redis.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hgetall(JobKeys(job_id).record)
                pipe.hgetall(JobKeys(job_id).charges)
            found = await ask(pipe.execute())
        records = [read_record(texts(fields)) for fields in found[::2] if fields]
        paid = {job_id: listed(fields) for job_id, fields in zip(ids, found[1::2], strict=True)}
        return Page(records, total, paid)
