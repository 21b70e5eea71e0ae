"""Records: one job in Redis, with its charges, its journal and its conversation.

Each write is one `AtomicStep` of `jobs.store.commit`.

See ADR 36.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from redis.asyncio import Redis

from jobs.audit.entries import (
    RETENTION,
    Actor,
    entries_of_change,
    entries_of_deletion,
    entry_of_labels,
)
from jobs.counting import day_of
from jobs.errors import Contended, StaleEpoch
from jobs.model.codec import dump, read_messages, read_record
from jobs.model.record import JobRecord, Status
from jobs.redis import keys
from jobs.redis.connection import (
    Clock,
    RedisCommand,
    await_redis,
    decode_hash,
    read_script,
    to_ms,
    urgent_script,
)
from jobs.redis.keys import JobKeys
from jobs.store import commit, decisions, outbox
from jobs.store.audit import append_entries
from jobs.store.commit import AtomicStep, Commit, Guard, absent, field_is, head_is, size_is
from jobs.store.events import packing_commands
from jobs.store.search import WordIndex
from jobs.store.spending import Charges
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
from jobs.transitions.retry import work_event_keys


class Records(Clock):
    """A part of RedisStore. `replicas`: see Commit."""

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        super().__init__(redis)
        self.words = WordIndex(redis)
        self.decisions = decisions.Decisions(redis)
        self._commit = Commit(redis, replicas)
        self._charges = Charges(redis, self._commit, self.load)
        self._renew = urgent_script(redis, read_script("renew"))

    async def create(
        self,
        change: Change,
        idempotency: Idempotency | None = None,
        blobs: Sequence[str] = (),
        parent: JobRecord | None = None,
        lease: LeaseRef | None = None,
    ) -> Existing | None:
        """Put a new job on record, at the end of its conversation's line.

        Returns the job that the idempotency key names already, or None: the job is new. A job that
        is not the first of its line is not due before it becomes the first.

        From now on the job refers to the bytes of `blobs` and of `parent`. If `inherits` names the
        parent, the job takes over its journal. Raises Contended if the id of the job is taken, or
        if the parent has been removed, and StaleEpoch if the `lease` of its submitter is lost.
        """
        record = replace(change.after, once=idempotency.key if idempotency else "")
        job = JobKeys(record.id)
        guards = [absent(job.record)]
        commands: list[RedisCommand] = list(commit.creation(record, blobs))
        once = keys.once(record.tenant, idempotency.key) if idempotency else ""
        if idempotency:
            guards.append(absent(once))
            commands.append(("HSET", once, "job", record.id, "body", idempotency.body_digest))
        if parent is not None:
            guards.append(field_is(JobKeys(parent.id).record, "version", parent.version))
            parent_keys = await await_redis(self.redis.smembers(JobKeys(parent.id).facts))
            event_keys = work_event_keys(key.decode() for key in parent_keys)
            commands += commit.inheritance(record, parent, event_keys)
        if lease is not None:
            guards += _lease_guards(lease)
        if await self._commit.apply(AtomicStep(job, guards, change.events, commands)):
            return None
        if idempotency and (existing := await self.find_existing(record.tenant, idempotency.key)):
            return existing
        if lease is not None and not await self.owns(lease):
            raise StaleEpoch(lease.job_id, lease.epoch)
        raise Contended(f"job {record.id} exists already, or its parent was removed")

    async def find_existing(self, tenant: str, key: str) -> Existing | None:
        """The job that an idempotency key names; None for a new key, and if the job was removed."""
        fields = decode_hash(await await_redis(self.redis.hgetall(keys.once(tenant, key))))
        return Existing(fields["job"], fields["body"]) if fields else None

    async def load(self, job_id: str) -> Loaded | None:
        """The current record, or None."""
        async with self.redis.pipeline(transaction=False) as pipe:
            pipe.hgetall(JobKeys(job_id).record)
            pipe.time()
            fields, time = await await_redis(pipe.execute())
        return Loaded(read_record(decode_hash(fields)), to_ms(*time)) if fields else None

    async def commit(
        self,
        before: JobRecord,
        change: Change,
        *,
        entry: ConversationEntry | None = None,
        first: bool = False,
    ) -> bool:
        """Replace the record `before` by `change.after`.

        Returns False, and writes nothing, if the version, `due_at` or `progress_epoch` in Redis
        differ from `before`. `progress_epoch` is compared because the attempt's progress decides
        whether a crash counts (J7).

        `entry` is added to the conversation. `first` requires that the job is the first of its
        conversation's line. A job that becomes final leaves its line, and the next job is due.
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
        commands: tuple[RedisCommand, ...] = (
            *commit.change_of_record(before, after, entry),
            *commit.add_counts(after.tenant, day, change.counts),
            *decisions.list_decisions(change),
            *append_entries(entries_of_change(change)),
            *outbox.enqueue(change.deliveries),
        )
        if after.status.final:
            commands += tuple(await packing_commands(self.redis, after.id))
        step = AtomicStep(job, guards, change.events, commands)
        if first:  # a claim: while Redis is full, an attempt could not record its results
            return await self._commit.apply(step)
        return await self._commit.apply_although_full(step)

    async def relabel(
        self, record: JobRecord, labels: Sequence[str], actor: Actor
    ) -> JobRecord | None:
        """Replace the labels of a job. This is no change of its state (J6). None: the job has
        changed or was removed, and this writes nothing."""
        job = JobKeys(record.id)
        stored_spec = await await_redis(self.redis.hget(job.record, "spec"))
        if stored_spec is None:
            return None
        version = record.version + 1
        after = replace(record, version=version, spec=replace(record.spec, labels=tuple(labels)))
        # a newer release may have further fields in the stored spec
        spec = {**json.loads(stored_spec), "labels": list(labels)}
        commands = (
            ("HSET", job.record, "spec", dump(spec), "version", version),
            *commit.change_of_labels(record, after),
            *append_entries([entry_of_labels(record, after, actor)]),
        )
        guards = (field_is(job.record, "version", record.version),)
        step = AtomicStep(job, guards, commands=commands)
        return after if await self._commit.apply_although_full(step) else None

    async def write(self, job_id: str, epoch: int, writes: Writes) -> None:
        """Apply an attempt's writes.

        Raises StaleEpoch if `epoch` is old or the job is not running; the charges are posted even
        then.
        """
        job = JobKeys(job_id)
        guards = _lease_guards(LeaseRef(job_id, epoch))
        commands = tuple(commit.attempt_writes(job, epoch, writes))
        if not await self._commit.apply(AtomicStep(job, guards, writes.events, commands, epoch)):
            await self.charge(job_id, writes.charges)
            raise StaleEpoch(job_id, epoch)

    async def owns(self, lease: LeaseRef) -> bool:
        """Whether the job runs under this epoch."""
        return await self.count_messages(lease) is not None

    async def count_messages(self, lease: LeaseRef) -> int | None:
        """The number of messages to the job; None if the job does not run under this epoch. Read
        before each call (J11)."""
        status, epoch, messages = await await_redis(
            self.redis.hmget(JobKeys(lease.job_id).record, ["status", "epoch", "messages"])
        )
        is_running = status == b"running" and epoch == str(lease.epoch).encode()
        return len(read_messages(messages)) if is_running else None

    async def charge(self, job_id: str, charges: Sequence[Charge]) -> None:
        """Post charges under any epoch. A charge with a known call id is not posted again, and no
        charge is posted for a job that was removed."""
        await self._charges.post(job_id, charges)

    async def charges(self, job_id: str) -> Sequence[Charge]:
        """All charges of a job."""
        return await self._charges.of(job_id)

    async def journal(self, job_id: str) -> Mapping[str, bytes]:
        """The finished calls of a job, by key."""
        entries = await await_redis(self.redis.hgetall(JobKeys(job_id).journal))
        return {key.decode(): outcome for key, outcome in entries.items()}

    async def remove(self, record: JobRecord, actor: Actor = RETENTION) -> bool:
        """Remove a final job: its checkpoints first, in bounded steps, then everything else in one
        step. The audit log keeps its decisions.

        The job no longer refers to its bytes, but they are not removed. Returns False if the job
        has changed meanwhile, or was removed already.
        """
        job = JobKeys(record.id)
        guards = (field_is(job.record, "version", record.version),)
        if not await self._remove_checkpoints(job, guards):
            return False
        entries = await self._entries_of(record)
        words = await self.words.words_of(record)
        members = await self.decisions.members_of(record)
        decided = await self.decisions.read_members(members)
        tombstone = entries_of_deletion(record, [item.event for item in decided], actor)
        commands = (
            *append_entries(tombstone),
            *decisions.remove_decisions(record, members),
            *commit.removal(record, entries, words),
        )
        not_indexed_since = field_is(job.record, "words", " ".join(words))
        step = AtomicStep(job, (*guards, not_indexed_since), commands=commands)
        return await self._commit.apply_although_full(step)

    async def _remove_checkpoints(self, job: JobKeys, guards: Sequence[Guard]) -> bool:
        """Remove a job's checkpoints in bounded steps; returns False if a guard does not hold.

        After an interruption, a second call removes the others: they are still in the index.
        """
        step = AtomicStep(job, guards, commands=(commit.remove_checkpoints(job.id),))
        while await self._commit.apply_although_full(step):
            if not await await_redis(self.redis.exists(f"{keys.CHECKPOINT}:{job.id}")):
                return True
        return False

    async def renew(self, leases: Sequence[LeaseRef], lease_ms: int) -> Sequence[LeaseRef]:
        """Extend leases in one step; returns the leases that are lost."""
        pairs = [part for lease in leases for part in (lease.job_id, lease.epoch)]
        lost = await await_redis(self._renew(keys=[keys.DUE], args=[keys.JOB, lease_ms, *pairs]))
        return [leases[position] for position in lost]

    async def next_in_line(self, tenant: str, conversation_id: str) -> str | None:
        """The id of the first job of a conversation's line; None if the line is empty."""
        job_id = await await_redis(self.redis.lindex(keys.line(tenant, conversation_id), 0))
        return job_id.decode() if job_id else None

    async def conversation(
        self, tenant: str, conversation_id: str, limit: int
    ) -> Sequence[ConversationEntry]:
        """The last `limit` finished jobs, newest first."""
        bodies = await self._entries(tenant, conversation_id, limit - 1) if limit > 0 else ()
        return [_entry(body) for body in bodies]

    async def _entries_of(self, record: JobRecord) -> list[str]:
        """The stored entries of a job in its conversation."""
        stored = await self._entries(record.tenant, record.conversation_id, -1)
        return [body.decode() for body in stored if _entry(body).job_id == record.id]

    async def _entries(self, tenant: str, conversation_id: str, last: int) -> Sequence[bytes]:
        name = keys.conversation(tenant, conversation_id)
        bodies: Sequence[bytes] = await await_redis(self.redis.lrange(name, 0, last))
        return bodies


def _lease_guards(lease: LeaseRef) -> tuple[Guard, Guard]:
    """The conditions that the attempt with this lease still runs."""
    name = JobKeys(lease.job_id).record
    return field_is(name, "epoch", lease.epoch), field_is(name, "status", str(Status.RUNNING))


def _entry(body: bytes) -> ConversationEntry:
    return ConversationEntry(*json.loads(body))
