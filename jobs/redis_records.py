"""RedisRecords: a job's record, and what is kept with it. Each write is one script."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys, redis_decisions, redis_index, redis_numbers, redis_outbox
from jobs.codec import read_record
from jobs.errors import Contended, StaleEpoch
from jobs.inheritance import of_work
from jobs.keys import JobKeys
from jobs.lifecycle import Change
from jobs.numbers import day_of
from jobs.record import JobRecord, Status
from jobs.redis_charges import RedisCharges
from jobs.redis_commit import Commit
from jobs.redis_decisions import RedisDecisions
from jobs.redis_events import packing
from jobs.redis_full import urgent_script
from jobs.redis_reach import reached, texts
from jobs.redis_script import SCRIPTS, Command, Guard, Step, absent, field_is, head_is, size_is
from jobs.redis_talks import RedisTalks
from jobs.redis_words import RedisWords
from jobs.store import Charge, Existing, Held, Idempotency, Loaded, Turn, Writes


class RedisRecords:
    """The half of the Store that is about one job; `replicas` must have each step: see Commit."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        self.redis = redis
        self.words = RedisWords(redis)
        self.decisions = RedisDecisions(redis)
        self._talks = RedisTalks(redis)
        self._commit = Commit(redis, replicas)
        self._charges = RedisCharges(redis, self._commit, self.load)
        self._renew = urgent_script(redis, (SCRIPTS / "renew.lua").read_text())

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
        record = replace(change.after, once=idempotency.key if idempotency else "")
        job = JobKeys(record.id)
        guards = [absent(job.record)]
        commands: list[Command] = list(redis_index.created(record, blobs))
        once = keys.once(record.tenant, idempotency.key) if idempotency else ""
        if idempotency:
            guards.append(absent(once))
            commands.append(("HSET", once, "job", record.id, "body", idempotency.body_digest))
        if parent is not None:
            guards.append(field_is(JobKeys(parent.id).record, "version", parent.version))
            stored = self.redis.smembers(JobKeys(parent.id).facts)
            said = of_work(key.decode() for key in await reached(cast("Awaitable[Any]", stored)))
            commands += redis_index.inherited(record, parent, said)
        if await self._commit.apply(Step(job, guards, change.events, commands)):
            return None
        if idempotency and (known := await self.known(record.tenant, idempotency.key)):
            return known
        raise Contended(f"job {record.id} exists already, or what it inherits is gone")

    async def known(self, tenant: str, key: str) -> Existing | None:
        """See Store."""
        stored = self.redis.hgetall(keys.once(tenant, key))
        found = texts(await reached(cast("Awaitable[Any]", stored)))
        return Existing(found["job"], found["body"]) if found else None

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
            field_is(job.record, "progress_epoch", before.progress_epoch),
        ]
        if first:
            guards.append(head_is(line, after.id))
        if change.paid_calls is not None:
            guards.append(size_is(job.charges, change.paid_calls))
        day = day_of(after.updated_at)
        commands: tuple[Command, ...] = (
            *redis_index.changed(before, after, turn),
            *redis_numbers.added(after.tenant, day, change.counts),
            *redis_decisions.told(change),
            *redis_outbox.entered(change.deliveries),
        )
        if after.status.final:
            commands += tuple(await packing(self.redis, after.id))
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
        await self._charges.post(job_id, charges)

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """See Store."""
        return await self._charges.of(job_id)

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """See Store."""
        stored = self.redis.hgetall(JobKeys(job_id).journal)
        found = await reached(cast("Awaitable[Any]", stored))
        return {key.decode(): value for key, value in found.items()}

    async def remove(self, record: JobRecord) -> bool:
        """See Store."""
        job = JobKeys(record.id)
        guards = (field_is(job.record, "version", record.version),)
        if not await self._forget(job, guards):
            return False
        turns = await self._talks.stored_of(record)
        words = await self.words.of(record)
        notes = await self.decisions.of(record)
        commands = (
            *redis_decisions.left(record, notes),
            *redis_index.removed(record, turns, words),
        )
        return await self._commit.apply_although_full(Step(job, guards, commands=commands))

    async def _forget(self, job: JobKeys, guards: Sequence[Guard]) -> bool:
        """Remove a job's checkpoints, in bounded steps. Cut off half-way, it can be called again:
        what is left stays in the index, and the job on record."""
        step = Step(job, guards, commands=(redis_index.forgotten(job.id),))
        while await self._commit.apply_although_full(step):
            if not await reached(self.redis.exists(f"{keys.CHECKPOINT}:{job.id}")):
                return True
        return False

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        """See Store."""
        pairs = [part for lease in held for part in (lease.job_id, lease.epoch)]
        lost = await reached(self._renew(keys=[keys.DUE], args=[keys.JOB, lease_ms, *pairs]))
        return [held[place] for place in lost]
