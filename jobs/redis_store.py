"""RedisStore: jobs in plain Redis (6.2 or newer, or Valkey), each write one script."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any, cast

from redis.asyncio import Redis

from jobs import keys, redis_index
from jobs.admission import Load
from jobs.codec import read_event, read_message, read_record
from jobs.errors import Contended, StaleEpoch
from jobs.events import EVENTS_AT_ONCE, Event
from jobs.inheritance import of_work
from jobs.keys import JobKeys
from jobs.lifecycle import Change
from jobs.record import JobRecord, Status
from jobs.redis_blob_index import RedisBlobIndex
from jobs.redis_commit import Commit
from jobs.redis_connection import connect
from jobs.redis_full import UrgentScript
from jobs.redis_listener import Listener
from jobs.redis_reach import reached, reaching
from jobs.redis_roster import Roster
from jobs.redis_script import SCRIPTS, Command, Step, absent, field_is, head_is
from jobs.spec import Priority
from jobs.store import ONCE_SECONDS, Charge, Existing, Held, Idempotency, Loaded, Page, Turn, Writes

__all__ = ["RedisStore", "connect"]

LOOK_SECONDS = 5.0
"""How often a waiting reader looks by himself, should a nudge have been lost."""


class RedisStore:
    """The Store on Redis, which is closed with it. `replicas` must have each step: see Commit."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        self.redis = redis
        self.blobs = RedisBlobIndex(redis)
        self._listener = Listener(redis)
        self._roster = Roster(redis)
        self._commit = Commit(redis, replicas)
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
        return Loaded(read_record(_texts(fields)), now)

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
        commands = tuple(redis_index.changed(before, after, turn))
        return await self._commit.apply_although_full(Step(job, guards, change.events, commands))

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """See Store."""
        job = JobKeys(job_id)
        guards = (
            field_is(job.record, "epoch", epoch),
            field_is(job.record, "status", str(Status.RUNNING)),
        )
        commands = tuple(redis_index.written(job, epoch, writes))
        if not await self._commit.apply(Step(job, guards, writes.events, commands)):
            await self.charge(job_id, writes.charges)
            raise StaleEpoch(job_id, epoch)

    async def owns(self, held: Held) -> bool:
        """See Store."""
        stored = self.redis.hmget(JobKeys(held.job_id).record, ["status", "epoch"])
        status, epoch = await reached(cast("Awaitable[Any]", stored))
        return bool(status == b"running" and epoch == str(held.epoch).encode())

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """See Store."""
        if charges:
            job = JobKeys(job_id)
            commands = tuple(redis_index.charged(job, charge) for charge in charges)
            await self._commit.apply(Step(job, commands=commands))

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """See Store."""
        found = await self._all(JobKeys(job_id).charges)
        return [Charge(call, *json.loads(body)) for call, body in found.items()]

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """See Store."""
        stored = self.redis.hgetall(JobKeys(job_id).journal)
        found = await reached(cast("Awaitable[Any]", stored))
        return {key.decode(): value for key, value in found.items()}

    async def events(
        self, job_id: str, after: int = 0, limit: int | None = None
    ) -> Sequence[Event]:
        """See Store."""
        after = max(after, 0)
        last = -1 if limit is None else after + limit - 1
        stored = self.redis.lrange(JobKeys(job_id).events, after, last)
        found = await reached(cast("Awaitable[Any]", stored))
        return [read_event(after + i, body.decode()) for i, body in enumerate(found, start=1)]

    async def wait_events(self, job_id: str, after: int, seconds: float) -> Sequence[Event]:
        """See Store. A reader that keeps up is served by what the channel carries alone."""
        ends = time.monotonic() + seconds
        async with reaching(), self._listener.subscribed(JobKeys(job_id).channel) as heard:
            told = [event for message in heard.recent for event in read_message(message)]
            if told and told[0].seq <= after + 1 and told[-1].seq >= after:
                found: Sequence[Event] = [event for event in told if event.seq > after]
            else:
                found = await self.events(job_id, after, EVENTS_AT_ONCE)
            while not found and (left := ends - time.monotonic()) > 0:
                message = await heard.next(min(left, LOOK_SECONDS))
                told = read_message(message) if message else []
                if told and told[0].seq == after + 1:
                    found = told
                else:
                    found = await self.events(job_id, after, EVENTS_AT_ONCE)
        return found[:EVENTS_AT_ONCE]

    @contextlib.asynccontextmanager
    async def stops(self) -> AsyncIterator[asyncio.Queue[str]]:
        """See Store."""
        async with reaching(), self._listener.subscribed(keys.STOP) as heard:
            yield heard.queue

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
        stored = self.redis.lrange(keys.turns(record.tenant, record.conversation_id), 0, -1)
        turns = [
            body.decode()
            for body in await reached(cast("Awaitable[Any]", stored))
            if Turn(*json.loads(body)).job_id == record.id
        ]
        guards = (field_is(job.record, "version", record.version),)
        commands = tuple(redis_index.removed(record, turns))
        return await self._commit.apply(Step(job, guards, commands=commands))

    async def my_turn(self, name: str, ms: int) -> bool:
        """See Store."""
        return bool(await reached(self.redis.set(keys.turn(name), "", nx=True, px=ms)))

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """See Store."""
        stored = self.redis.lindex(keys.line(tenant, conversation_id), 0)
        found = await reached(cast("Awaitable[Any]", stored))
        return found.decode() if found else None

    async def conversation(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """See Store."""
        if limit < 1:
            return []
        stored = self.redis.lrange(keys.turns(tenant, conversation_id), 0, limit - 1)
        found = await reached(cast("Awaitable[Any]", stored))
        return [Turn(*json.loads(body)) for body in found]

    async def page(
        self, tenant: str, *, limit: int, offset: int, status: Status | None, label: str | None
    ) -> Page:
        """See Store."""
        wanted = [keys.listing(tenant, status=status)] if status is not None else []
        wanted += [keys.listing(tenant, label=label)] if label is not None else []
        if len(wanted) < 2:
            listing = wanted[0] if wanted else keys.listing(tenant)
            async with self.redis.pipeline(transaction=False) as pipe:
                pipe.zcard(listing)
                pipe.zrange(
                    listing, "+inf", "-inf", desc=True, byscore=True, offset=offset, num=limit
                )
                total, ids = await reached(pipe.execute())
        else:
            both = await reached(self.redis.zinter(wanted, aggregate="MAX"))
            total, ids = len(both), list(reversed(both))[offset : offset + limit]
        return Page(await self._load_all([job_id.decode() for job_id in ids]), total)

    async def counts(self) -> Mapping[Status, int]:
        """See Store."""
        found = await self._all(keys.COUNTS)
        return {status: int(found.get(status, 0)) for status in Status}

    async def queue_depth(self) -> Mapping[Priority, int]:
        """See Store."""
        found = await self._all(keys.COUNTS)
        return {priority: int(found.get(keys.queued(priority), 0)) for priority in Priority}

    async def load_now(self) -> Load:
        """See Store."""
        memory = await reached(self.redis.info("memory"))
        most = int(memory.get("maxmemory") or memory.get("total_system_memory") or 0)
        queued = sum((await self.queue_depth()).values())
        return Load(int(memory["used_memory"]), most, queued)

    async def renew(self, held: Sequence[Held], lease_ms: int) -> Sequence[Held]:
        """See Store."""
        pairs = [part for lease in held for part in (lease.job_id, lease.epoch)]
        lost = await reached(self._renew(keys=[keys.DUE], args=[keys.JOB, lease_ms, *pairs]))
        return [held[place] for place in lost]

    async def announce(self, worker: str, facts: Mapping[str, Any], seconds: int) -> None:
        """See Store."""
        await self._roster.announce(worker, facts, seconds, await self.now())

    async def withdraw(self, worker: str) -> None:
        """See Store."""
        await self._roster.withdraw(worker)

    async def workers(self) -> Sequence[Mapping[str, Any]]:
        """See Store."""
        return await self._roster.workers()

    async def close(self) -> None:
        """See Store."""
        await self._listener.close()
        await self.redis.aclose()

    async def _ids(self, index: str, most: str, limit: int) -> Sequence[str]:
        stored = self.redis.zrangebyscore(index, "-inf", most, 0, limit)
        return [job_id.decode() for job_id in await reached(cast("Awaitable[Any]", stored))]

    async def _all(self, key: str) -> dict[str, str]:
        return _texts(await reached(cast("Awaitable[Any]", self.redis.hgetall(key))))

    async def _load_all(self, ids: Sequence[str]) -> Sequence[JobRecord]:
        async with self.redis.pipeline(transaction=False) as pipe:
            for job_id in ids:
                pipe.hgetall(JobKeys(job_id).record)
            found = await reached(pipe.execute())
        return [read_record(_texts(fields)) for fields in found if fields]


def _texts(fields: Mapping[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in fields.items()}
