"""RedisStore: jobs in plain Redis (6.2 or newer, or Valkey), each write one script."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Unpack, cast

from redis.asyncio import Redis

from jobs import keys, redis_charges, redis_decisions, redis_index, redis_numbers, redis_outbox
from jobs.admission import Load
from jobs.codec import read_record
from jobs.counting import paid
from jobs.drains import Drains
from jobs.errors import Contended, StaleEpoch
from jobs.events import Event
from jobs.inheritance import of_work
from jobs.inquiries import Inquiries
from jobs.keys import JobKeys
from jobs.lifecycle import Change
from jobs.numbers import day_of
from jobs.record import JobRecord, Status
from jobs.redis_blob_index import RedisBlobIndex
from jobs.redis_budgets import RedisBudgets
from jobs.redis_commit import Commit
from jobs.redis_connection import connect
from jobs.redis_decisions import RedisDecisions
from jobs.redis_events import RedisEvents
from jobs.redis_full import UrgentScript
from jobs.redis_listing import RedisListing
from jobs.redis_numbers import RedisNumbers
from jobs.redis_outbox import RedisOutbox
from jobs.redis_reach import reached, texts
from jobs.redis_roster import Roster
from jobs.redis_script import SCRIPTS, Command, Step, absent, field_is, head_is, size_is
from jobs.redis_talks import RedisTalks
from jobs.redis_turns import RedisTurns
from jobs.redis_words import RedisWords
from jobs.sought import Sought, SoughtFields
from jobs.spec import Priority
from jobs.store import ONCE_SECONDS, Charge, Existing, Held, Idempotency, Loaded, Page, Turn, Writes
from jobs.tokens import RedisTokens

__all__ = ["RedisStore", "connect"]

CHARGE_TRIES = 20


class RedisStore:
    """The Store on Redis, which is closed with it. `replicas` must have each step: see Commit."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        self.redis = redis
        self.blobs = RedisBlobIndex(redis)
        self.turns = RedisTurns(redis)
        self.words = RedisWords(redis)
        self.decisions = RedisDecisions(redis)
        self.outbox = RedisOutbox(redis)
        self.numbers = RedisNumbers(redis)
        self._events = RedisEvents(redis)
        self.tokens = RedisTokens(redis, self._events.listener)
        self.inquiries = Inquiries(redis, self._events.listener)
        self._listing = RedisListing(redis)
        self._talks = RedisTalks(redis)
        self._roster = Roster(redis)
        self.drains = Drains(redis)
        self._commit = Commit(redis, replicas)
        self.budgets = RedisBudgets(redis, self._commit)
        self._listed = redis.register_script((SCRIPTS / "listed.lua").read_text())
        self._renew = UrgentScript(redis, (SCRIPTS / "renew.lua").read_text())

    async def now(self) -> int:
        """See Store."""
        seconds, micros = await reached(self.redis.time())
        return int(seconds) * 1000 + int(micros) // 1000

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
    ) -> Existing | None:
        """See Store."""
        record = change.after
        job = JobKeys(record.id)
        guards = [absent(job.record)]
        commands: list[Command] = list(redis_index.created(record, blobs))
        once = keys.once(record.tenant, idempotency.key) if idempotency else ""
        if idempotency:
            guards.append(absent(once))
            commands.append(("HSET", once, "job", record.id, "body", idempotency.body_digest))
            commands.append(("EXPIRE", once, ONCE_SECONDS))
        if parent is not None:
            guards.append(field_is(JobKeys(parent.id).record, "version", parent.version))
            stored = self.redis.smembers(JobKeys(parent.id).facts)
            said = of_work(key.decode() for key in await reached(cast("Awaitable[Any]", stored)))
            commands += redis_index.inherited(record, parent, said)
        if await self._commit.apply(Step(job, guards, change.events, commands)):
            return None
        known = await self._all(once) if once else {}
        if not known:
            raise Contended(f"job {record.id} exists already, or what it inherits is gone")
        return Existing(known["job"], known["body"])

    async def load(self, job_id: str) -> Loaded | None:
        """See Store."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(JobKeys(job_id).record)
            pipe.time()
            fields, (seconds, micros) = await reached(pipe.execute())
        if not fields:
            return None
        now = int(seconds) * 1000 + int(micros) // 1000
        return Loaded(read_record(texts(fields)), now)

    async def commit(
        self, before: JobRecord, change: Change, *, turn: Turn | None = None, first: bool = False
    ) -> bool:
        """See Store."""
        after = change.after
        job = JobKeys(after.id)
        line = keys.line(after.tenant, after.conversation_id)
        guards = [
            field_is(job.record, "version", before.version),
            field_is(job.record, "due_at", before.due_at),
        ]
        if first:
            guards.append(head_is(line, after.id))
        if change.paid_calls is not None:
            guards.append(size_is(job.charges, change.paid_calls))
        day = day_of(after.updated_at)
        commands = (
            *redis_index.changed(before, after, turn),
            *redis_numbers.added(after.tenant, day, change.counts),
            *redis_decisions.told(change),
            *redis_outbox.entered(change.deliveries),
        )
        step = Step(job, guards, change.events, commands)
        if first:  # a claim: whatever its attempt did could not be put on record
            return await self._commit.apply(step)
        return await self._commit.apply_although_full(step)

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See Store."""
        job = JobKeys(job_id)
        guards = (
            field_is(job.record, "epoch", epoch),
            field_is(job.record, "status", str(Status.RUNNING)),
        )
        commands = tuple(redis_index.written(job, epoch, writes))
        if not await self._commit.apply(Step(job, guards, writes.events, commands, epoch)):
            await self.charge(job_id, writes.charges)
            raise StaleEpoch(job_id, epoch)

    async def owns(self, held: Held) -> bool:
        """See Store."""
        stored = self.redis.hmget(JobKeys(held.job_id).record, ["status", "epoch"])
        status, epoch = await reached(cast("Awaitable[Any]", stored))
        return bool(status == b"running" and epoch == str(held.epoch).encode())

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See Store."""
        for charge in charges:
            await self._charge(JobKeys(job_id), charge)

    async def _charge(self, job: JobKeys, charge: Charge) -> None:
        """One that comes behind the job's end counts on the day on which it comes; the others are
        counted by the end, so that the job must not end in between."""
        commands = tuple(redis_index.charged(job, charge))
        for _ in range(CHARGE_TRIES):
            if (loaded := await self.load(job.id)) is None:
                return  # nothing would ever remove what is kept of it now
            stands = field_is(job.record, "status", str(loaded.record.status))
            if loaded.record.status.final:
                day = day_of(loaded.now)
                counts = redis_numbers.added(loaded.record.tenant, day, paid([charge]))
                is_new = field_is(job.charges, charge.call, "")
                step = Step(job, (stands, is_new), commands=(*commands, *counts))
                if await self._commit.apply_although_full(step):
                    return
            if await self._commit.apply_although_full(Step(job, (stands,), commands=commands)):
                return
        raise Contended(f"job {job.id} kept changing")

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """See Store."""
        return await redis_charges.read(self.redis, JobKeys(job_id))

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """See Store."""
        stored = self.redis.hgetall(JobKeys(job_id).journal)
        found = await reached(cast("Awaitable[Any]", stored))
        return {key.decode(): value for key, value in found.items()}

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """See Store."""
        return await self._events.after(job_id, after, limit)

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """See Store."""
        return await self._events.wait(job_id, after, seconds)

    def stops(self) -> AbstractAsyncContextManager[asyncio.Queue[str]]:
        """See Store."""
        return self._events.stops()

    async def due(self, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._ids(keys.DUE, str(await self.now()), limit)

    async def overdue(self, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._ids(keys.AWAITING_REVIEW, str(await self.now()), limit)

    async def finished(self, before: int, limit: int) -> Sequence[str]:
        """See Store."""
        return await self._ids(keys.FINISHED, f"({before}", limit)

    async def remove(self, record: JobRecord) -> bool:
        """See Store."""
        job = JobKeys(record.id)
        turns = await self._talks.stored_of(record)
        guards = (field_is(job.record, "version", record.version),)
        words = await self.words.of(record)
        notes = await self.decisions.of(record)
        commands = (
            *redis_decisions.left(record, notes),
            *redis_index.removed(record, turns, words),
        )
        return await self._commit.apply_although_full(Step(job, guards, commands=commands))

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """See Store."""
        return await self._talks.head(tenant, conversation_id)

    async def conversation(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """See Store."""
        return await self._talks.turns(tenant, conversation_id, limit)

    async def page(
        self, tenant: str, *, limit: int, offset: int, **sought: Unpack[SoughtFields]
    ) -> Page:
        """See Store."""
        return await self._listing.page(tenant, Sought(**sought), limit=limit, offset=offset)

    async def changes(self, tenant: str) -> int:
        """See Store."""
        return await self._listing.changes(tenant)

    async def counts(self) -> Mapping[Status, int]:
        """See Store."""
        return await self._listing.counts()

    async def standing(self, tenant: str) -> Mapping[Status, int]:
        """See Store."""
        return await self._listing.standing(tenant)

    async def queue_depth(self) -> Mapping[Priority, int]:
        """See Store."""
        return await self._listing.queue_depth()

    async def load_now(self) -> Load:
        """See Store."""
        return await self._listing.load_now()

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        """See Store."""
        pairs = [part for lease in held for part in (lease.job_id, lease.epoch)]
        lost = await reached(self._renew(keys=[keys.DUE], args=[keys.JOB, lease_ms, *pairs]))
        return [held[place] for place in lost]

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> bool:
        """See Store."""
        return await self._roster.announce(worker, facts, seconds, await self.now())

    async def withdraw(self, worker: str) -> None:
        """See Store."""
        await self._roster.withdraw(worker)

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        return await self._roster.workers()

    async def close(self) -> None:
        """See Store."""
        await self._events.close()
        await self.redis.aclose()

    async def _ids(self, index: str, most: str, limit: int) -> Sequence[str]:
        found = await reached(self._listed(keys=[index], args=[most, limit, keys.JOB]))
        return [job_id.decode() for job_id in found]

    async def _all(self, key: str) -> dict[str, str]:
        return texts(await reached(cast("Awaitable[Any]", self.redis.hgetall(key))))
