"""Records: a job's record, and what is kept with it. Each write is one script.

Why: docs/decisions/0036-finished-jobs.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from redis.asyncio import Redis

from jobs.counting import day_of
from jobs.errors import Contended, StaleEpoch
from jobs.model.codec import read_record
from jobs.model.record import JobRecord, Status
from jobs.redis import keys
from jobs.redis.connection import Clock, Command, ask, in_ms, lua, texts, urgent_script
from jobs.redis.keys import JobKeys
from jobs.store import decisions, index, outbox
from jobs.store.commit import Commit, Guard, Step, absent, field_is, head_is, size_is
from jobs.store.events import packing
from jobs.store.search import Words
from jobs.store.spending import Charges, count_commands
from jobs.store.types import (
    Charge,
    ConversationEntry,
    Existing,
    Idempotency,
    LeaseRef,
    Loaded,
    Writes,
)
from jobs.transitions.lifecycle import Change
from jobs.transitions.retry import of_work


class Records(Clock):
    """The part of RedisStore that is about one job; `replicas` must have each step: see Commit."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        super().__init__(redis)
        self.words = Words(redis)
        self.decisions = decisions.Decisions(redis)
        self._commit = Commit(redis, replicas)
        self._charges = Charges(redis, self._commit, self.load)
        self._renew = urgent_script(redis, lua("renew"))

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
    ) -> Existing | None:
        """Put a new job on record, at the end of its conversation's line; None when it was new.

        A job that is not the first of its line is not due before its turn comes.

        From then on it refers to the bytes of `blobs` and of `parent`, and takes over the parent's
        journal where `inherits` names it. Raises Contended where its id is taken, or the parent was
        removed meanwhile.
        """
        record = replace(change.after, once=idempotency.key if idempotency else "")
        job = JobKeys(record.id)
        guards = [absent(job.record)]
        commands: list[Command] = list(index.created(record, blobs))
        once = keys.once(record.tenant, idempotency.key) if idempotency else ""
        if idempotency:
            guards.append(absent(once))
            commands.append(("HSET", once, "job", record.id, "body", idempotency.body_digest))
        if parent is not None:
            guards.append(field_is(JobKeys(parent.id).record, "version", parent.version))
            said = of_work(
                key.decode() for key in await ask(self.redis.smembers(JobKeys(parent.id).facts))
            )
            commands += index.inherited(record, parent, said)
        if await self._commit.apply(Step(job, guards, change.events, commands)):
            return None
        if idempotency and (known := await self.known(record.tenant, idempotency.key)):
            return known
        raise Contended(f"job {record.id} exists already, or what it inherits is gone")

    async def known(self, tenant: str, key: str) -> Existing | None:
        """What an idempotency key stands for: for as long as its job is kept."""
        found = texts(await ask(self.redis.hgetall(keys.once(tenant, key))))
        return Existing(found["job"], found["body"]) if found else None

    async def load(self, job_id: str) -> Loaded | None:
        """The record as it stands, or None."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(JobKeys(job_id).record)
            pipe.time()
            fields, time = await ask(pipe.execute())
        return Loaded(read_record(texts(fields)), in_ms(*time)) if fields else None

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """Replace `before` by `change.after` if its version, `due_at` and `progress_epoch` stand.

        Whether a crash counts depends on the attempt's progress (J7): if progress is written
        between the read and the commit, the sweeper reads again.

        `entry` is added to the conversation; `first` requires that the job is at the head of its
        conversation's line. False: something changed, nothing was written. A final record leaves
        the line, and the next in it becomes due.
        """
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
            *index.changed(before, after, entry),
            *count_commands(after.tenant, day, change.counts),
            *decisions.recorded(change),
            *outbox.entered(change.deliveries),
        )
        if after.status.final:
            commands += tuple(await packing(self.redis, after.id))
        step = Step(job, guards, change.events, commands)
        if first:  # a claim: nothing that its attempt did could be recorded
            return await self._commit.apply(step)
        return await self._commit.apply_although_full(step)

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """Apply an attempt's writes; StaleEpoch if `epoch` is old or the job is not running.

        Charges are kept even then.
        """
        job = JobKeys(job_id)
        guards = (
            field_is(job.record, "epoch", epoch),
            field_is(job.record, "status", str(Status.RUNNING)),
        )
        commands = tuple(index.written(job, epoch, writes))
        if not await self._commit.apply(Step(job, guards, writes.events, commands, epoch)):
            await self.charge(job_id, writes.charges)
            raise StaleEpoch(job_id, epoch)

    async def owns(self, held: LeaseRef) -> bool:
        """Whether the job is running and of this epoch: asked before each call (J11)."""
        status, epoch = await ask(
            self.redis.hmget(JobKeys(held.job_id).record, ["status", "epoch"])
        )
        return bool(status == b"running" and epoch == str(held.epoch).encode())

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Post what was paid, whatever the epoch; a known call id is not posted again, nor anything
        of a job that is gone."""
        await self._charges.post(job_id, charges)

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """Everything that was paid for a job."""
        return await self._charges.of(job_id)

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """The finished calls of a job by key."""
        found = await ask(self.redis.hgetall(JobKeys(job_id).journal))
        return {key.decode(): value for key, value in found.items()}

    async def remove(self, record: JobRecord) -> bool:
        """Remove a final job with all that is kept of it: its checkpoints first, in bounded steps,
        then the rest in one.

        Its bytes are not removed: it refers to them no longer. False: it is gone already.
        """
        job = JobKeys(record.id)
        guards = (field_is(job.record, "version", record.version),)
        if not await self._forget(job, guards):
            return False
        entries = await self._entries_of(record)
        words = await self.words.of(record)
        notes = await self.decisions.of(record)
        commands = (
            *decisions.left(record, notes),
            *index.removed(record, entries, words),
        )
        return await self._commit.apply_although_full(Step(job, guards, commands=commands))

    async def _forget(self, job: JobKeys, guards: Sequence[Guard]) -> bool:
        """Remove a job's checkpoints, in bounded steps. After an interruption it can be called
        again: the rest is still in the index, and the job on record."""
        step = Step(job, guards, commands=(index.forgotten(job.id),))
        while await self._commit.apply_although_full(step):
            if not await ask(self.redis.exists(f"{keys.CHECKPOINT}:{job.id}")):
                return True
        return False

    async def renew(self, held: Sequence[LeaseRef], lease_ms: int) -> Sequence[LeaseRef]:
        """Extend leases in one step; returns those that are lost."""
        pairs = [part for lease in held for part in (lease.job_id, lease.epoch)]
        lost = await ask(self._renew(keys=[keys.DUE], args=[keys.JOB, lease_ms, *pairs]))
        return [held[place] for place in lost]

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """The job at the head of a conversation's line."""
        found = await ask(self.redis.lindex(keys.line(tenant, conversation_id), 0))
        return found.decode() if found else None

    async def has_conversation(self, tenant: str, conversation_id: str) -> bool:
        """Whether the conversation has a job that is not final, or that has succeeded. One whose
        jobs have all failed is only known by the id of its first."""
        names = (keys.line(tenant, conversation_id), keys.conversation(tenant, conversation_id))
        return bool(await ask(self.redis.exists(*names)))

    async def conversation(
        self, tenant: str, conversation_id: str, limit: int
    ) -> Sequence[ConversationEntry]:
        """The last `limit` finished jobs, newest first."""
        found = await self._entries(tenant, conversation_id, limit - 1) if limit > 0 else ()
        return [_entry(body) for body in found]

    async def _entries_of(self, record: JobRecord) -> list[str]:
        """A job's entries in its conversation, as they are stored."""
        stored = await self._entries(record.tenant, record.conversation_id, -1)
        return [body.decode() for body in stored if _entry(body).job_id == record.id]

    async def _entries(self, tenant: str, conversation_id: str, last: int) -> Sequence[bytes]:
        name = keys.conversation(tenant, conversation_id)
        found: Sequence[bytes] = await ask(self.redis.lrange(name, 0, last))
        return found


def _entry(body: bytes) -> ConversationEntry:
    return ConversationEntry(*json.loads(body))
