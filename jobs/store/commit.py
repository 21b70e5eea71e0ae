"""The atomic write of a job: guards, events, commands, and the script that applies them.

An `AtomicStep` is one call of lua/commit.lua. `Commit` applies it. The functions below list the
commands that a new job, a change, an attempt's writes and a removal entail. They keep J3: a job
that is not final is in exactly one of the indexes `due` and `awaiting_review`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis
from redis.commands.core import AsyncScript

from jobs import counting
from jobs.budgets import Cap, Spent
from jobs.errors import StoreUnavailable
from jobs.model.codec import continuation_field, dump, event_body, record_fields
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Status
from jobs.redis import keys
from jobs.redis.connection import (
    Argument,
    RedisCommand,
    read_script,
    translate_redis_errors,
    urgent_script,
)
from jobs.redis.keys import JobKeys
from jobs.store import search
from jobs.store.types import ENTRIES_KEPT, Charge, ConversationEntry, Writes
from jobs.transitions.change import IN_LINE_MS, Counts
from jobs.transitions.reviews import ineligible_approvers
from jobs.view.inbox import WaitingReview

REPLICATION_MS = 1_000
"""How long replicas may take to confirm a write. It is less than the time limit of a connection."""
CHECKPOINTS_PER_STEP = 1_000
"""The checkpoints that one step removes: this blocks Redis for some milliseconds. `Records.remove`
repeats the step, so the others remain until the job is removed."""


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition of a step; lua/commit.lua lists the kinds."""

    kind: str
    key: str
    field: str = ""
    value: str = ""


def field_is(key: str, name: str, value: str | int) -> Guard:
    """The hash `key` has `value` in the field `name`. An empty value also matches a missing
    field."""
    return Guard("field", key, name, str(value))


def size_is(key: str, size: int) -> Guard:
    """The hash `key` has `size` fields."""
    return Guard("size", key, "", str(size))


def absent(key: str) -> Guard:
    """`key` does not exist."""
    return Guard("absent", key)


def head_is(key: str, value: str) -> Guard:
    """The list `key` is empty, or `value` is its first element."""
    return Guard("head", key, "", value)


@dataclass(frozen=True, slots=True)
class AtomicStep:
    """One atomic step for one job, or for no job."""

    keys: JobKeys | None = None
    """The job's keys. None: the step has no events."""
    guards: Sequence[Guard] = ()
    """If a guard does not hold, the step writes nothing."""
    events: Sequence[NewEvent] = ()
    """Appended in this order, unless an event with the same key is on record."""
    commands: Sequence[RedisCommand] = ()
    """Run in this order, after the events."""
    epoch: int | None = None
    """The epoch of the attempt that reports the events. None: events of the job's own life."""

    def script_keys(self) -> list[str]:
        """KEYS of the script."""
        return [self.keys.events, self.keys.facts] if self.keys else []

    def script_args(self) -> list[Argument]:
        """ARGV of the script."""
        return [*self._guard_args(), *self._event_args(), *self._command_args()]

    def _guard_args(self) -> Iterable[Argument]:
        yield len(self.guards)
        for guard in self.guards:
            yield from (guard.kind, guard.key, guard.field, guard.value)

    def _event_args(self) -> Iterable[Argument]:
        yield self.keys.channel if self.keys else ""
        yield len(self.events)
        for event in self.events:
            yield from (event.key, event_body(event, self.epoch))

    def _command_args(self) -> Iterable[Argument]:
        yield len(self.commands)
        for command in self.commands:
            yield len(command)
            yield from command


class Commit:
    """The script that makes every write to a job.

    `replicas`: the number of replicas that must confirm a step (WAIT). If they do not confirm it in
    time, the step is applied on the primary, but the call fails. A caller that tries again finds
    the step applied, and waits for the replicas again.
    """

    def __init__(self, redis: Redis, replicas: int = 0) -> None:
        text = read_script("commit")
        self._redis = redis
        self._replicas = replicas
        self._script = redis.register_script(text)
        self._urgent = urgent_script(redis, text)

    async def apply(self, step: AtomicStep) -> bool:
        """Apply the step if all its guards hold, and return whether they did.

        Raises StoreUnavailable.
        """
        return await self._run(self._script, step)

    async def apply_although_full(self, step: AtomicStep) -> bool:
        """As `apply`, even if Redis is at its `maxmemory`.

        For small steps that free memory or record a cost: every change of a record except a claim,
        the removal of a job, and charges. A new job, a claim and the results of an attempt wait
        until Redis has memory.
        """
        return await self._run(self._urgent, step)

    async def _run(self, script: AsyncScript, step: AtomicStep) -> bool:
        applied, *_ = await self.run_replicated(script, step.script_keys(), step.script_args())
        return bool(applied)

    async def run_replicated(
        self, script: AsyncScript, names: Sequence[str], args: Sequence[Argument]
    ) -> Any:
        """Run a script, and return its answer when the replicas have its writes."""
        async with translate_redis_errors():
            if self._replicas == 0:
                return await script(keys=names, args=args)
            async with (
                self._redis.client() as connection
            ):  # WAIT counts its own connection's writes
                answer = await script(keys=names, args=args, client=connection)
                confirmed = await connection.wait(self._replicas, REPLICATION_MS)
        if confirmed < self._replicas:
            raise StoreUnavailable(f"{confirmed} of {self._replicas} replicas have the write")
        return answer


def creation(record: JobRecord, blobs: Sequence[str] = ()) -> Iterator[RedisCommand]:
    """Add a new job: its record, index, listings, and the end of its conversation's line."""
    yield _save(record, new=True)
    yield from _add_blobs(JobKeys(record.id), blobs)
    yield ("ZADD", keys.DUE, record.due_at, record.id)
    for name in _permanent_listings(record):
        yield ("ZADD", name, record.created_at, record.id)
    yield from _list_by_status(record)
    due_at = record.created_at + IN_LINE_MS
    yield ("JOIN_LINE", *_line_arguments(record), record.spec.priority, due_at)
    yield from search.queue_for_index(record)
    yield _count_change(record)


def inheritance(
    record: JobRecord, parent: JobRecord, event_keys: Sequence[str]
) -> Iterator[RedisCommand]:
    """Give a new job the bytes of its parent. If the job also continues the parent's checkpoints
    (`inherits`), give it the parent's journal and event keys."""
    job, parent_job = JobKeys(record.id), JobKeys(parent.id)
    yield ("INHERIT_BLOBS", job.blobs, keys.REFERENCES, keys.UNREFERENCED, parent_job.blobs)
    if record.inherits == parent.id:
        yield ("COPY", parent_job.journal, job.journal)
        yield from (("SADD", job.facts, event_key) for event_key in event_keys)


def change_of_record(
    before: JobRecord, after: JobRecord, entry: ConversationEntry | None
) -> Iterator[RedisCommand]:
    """Replace a record and update its indexes. A final job also leaves its line."""
    yield _save(after)
    if after.graph != before.graph:  # `_save` leaves this field to the writes of attempts
        yield ("HSET", JobKeys(after.id).record, "graph", str(after.graph or ""))
    yield from _index(after)
    if before.status is not after.status:
        yield from _count_status(before, -1)
        yield ("ZREM", _listing(after, "status", before.status), after.id)
        yield ("ZREM", _queue(after), after.id)
        yield from _list_by_status(after)
    yield from _update_ineligible_approvers(before, after)
    if after.decision is not None and after.decision != before.decision:
        yield from _add_blobs(JobKeys(after.id), [*filter(None, after.decision.files.values())])
    if before.override is not after.override:
        yield _list_override(after)
    yield _count_change(after)
    if entry is not None:
        entries = keys.conversation(after.tenant, after.conversation_id)
        yield ("LPUSH", entries, dump([entry.job_id, entry.task, entry.summary, entry.workspace]))
        yield ("LTRIM", entries, 0, ENTRIES_KEPT - 1)
    if after.status.final:
        yield ("LEAVE_LINE", *_line_arguments(after))
        yield ("ZADD", keys.FINISHED, after.updated_at, after.id)
    if after.cannot_continue:
        yield ("UNLINK", *JobKeys(after.id).working)
        yield remove_checkpoints(after.id)
    if after.status is Status.CANCELLED:
        yield ("PUBLISH", keys.STOP, after.id)


def change_of_labels(before: JobRecord, after: JobRecord) -> Iterator[RedisCommand]:
    """List the job by its new labels, and index their words."""
    for name in set(_permanent_listings(before)).difference(_permanent_listings(after)):
        yield ("ZREM", name, after.id)
    for name in _permanent_listings(after):
        yield ("ZADD", name, after.created_at, after.id)
    yield from search.queue_for_index(after)
    yield _count_change(after)


def attempt_writes(job: JobKeys, epoch: int, writes: Writes) -> Iterator[RedisCommand]:
    """Put an attempt's writes on record."""
    if writes.journal:
        pairs = (part for item in writes.journal.items() for part in item)
        yield ("HSET", job.journal, *pairs)
        yield ("HSET", job.record, "progress_epoch", epoch)
    for charge in writes.charges:
        yield from post_charge(job, charge)
    if writes.workspace is not None:
        yield ("HSET", job.record, "workspace", writes.workspace)
    if writes.continues is not None:
        yield ("HSET", job.record, "continues", continuation_field(writes.continues))
    if writes.start is not None:
        yield ("HSET", job.record, "start", writes.start)
    if writes.graph is not None:
        yield ("HSET", job.record, "graph", str(writes.graph))
    yield from _add_blobs(job, writes.blobs)
    yield from writes.commands


def removal(
    record: JobRecord, entries: Sequence[str], words: Sequence[str] = ()
) -> Iterator[RedisCommand]:
    """Remove a final job: its keys, its places in the listings, its `words` in the search index and
    its `entries` in the conversation."""
    job = JobKeys(record.id)
    yield ("RELEASE_BLOBS", job.blobs, keys.REFERENCES, keys.UNREFERENCED)
    once = (keys.once(record.tenant, record.once),) if record.once else ()
    yield ("UNLINK", *job.all, *once)
    yield from _count_status(record, -1)
    yield ("ZREM", keys.FINISHED, record.id)
    changing = (_listing(record, "status", record.status), _listing(record, "override"))
    unknown_to_release_0_1 = (_queue(record),)
    for name in (*_permanent_listings(record), *changing, *unknown_to_release_0_1):
        yield ("ZREM", name, record.id)
    yield ("HDEL", keys.reviews(record.tenant), record.id)
    yield from search.remove_from_index(record, words)
    yield _count_change(record)
    for entry in entries:
        yield ("LREM", keys.conversation(record.tenant, record.conversation_id), 1, entry)


def remove_checkpoints(job_id: str) -> RedisCommand:
    """Remove up to `CHECKPOINTS_PER_STEP` checkpoints of a job."""
    return ("REMOVE_CHECKPOINTS", keys.CHECKPOINT, job_id, CHECKPOINTS_PER_STEP)


def post_charge(job: JobKeys, charge: Charge) -> Iterator[RedisCommand]:
    """Post a charge, once per call id, and settle its reservation."""
    tokens = (charge.input_tokens, charge.output_tokens)
    body = [charge.role, charge.model, *tokens, charge.cost_usd, charge.cached_input_tokens]
    yield ("HSETNX", job.charges, charge.call, dump(body))
    if charge.reservation is not None:
        yield settle(job, charge.reservation, charge.spent)


def settle(job: JobKeys, reservation: str, spent: Spent) -> RedisCommand:
    """Replace a reservation by the amount that was spent."""
    return ("SETTLE", job.spend, reservation, *amount_args(spent))


def amount_args(amount: Cap | Spent) -> tuple[Argument, Argument]:
    """Cost and tokens as scripts take them: '' for None."""
    return (
        "" if amount.cost is None else amount.cost,
        "" if amount.tokens is None else amount.tokens,
    )


def add_counts(tenant: str, day: str, counts: Counts) -> Iterator[RedisCommand]:
    """Add to the counts of a tenant's day."""
    day_key = keys.day_counts(tenant, day)
    for name, count in counts.items():
        yield ("HINCRBY", day_key, name, count)
    if counts:
        yield ("EXPIRE", day_key, counting.DAYS_KEPT * 86_400)


def _add_blobs(job: JobKeys, digests: Sequence[str]) -> Iterator[RedisCommand]:
    if digests:
        yield ("ADD_BLOBS", job.blobs, keys.REFERENCES, keys.UNREFERENCED, *digests)


def _save(record: JobRecord, *, new: bool = False) -> RedisCommand:
    fields = record_fields(record, new=new)
    return ("HSET", JobKeys(record.id).record, *(part for item in fields.items() for part in item))


def _index(record: JobRecord) -> Iterator[RedisCommand]:
    """Put the record into the index that belongs to its status, and out of the other (J3)."""
    awaits_review = record.status is Status.AWAITING_REVIEW
    if awaits_review or record.status.final:
        yield ("ZREM", keys.DUE, record.id)
    else:
        yield ("ZADD", keys.DUE, record.due_at, record.id)
    if awaits_review:
        look_at = record.review.look_at if record.review else None
        yield ("ZADD", keys.AWAITING_REVIEW, "+inf" if look_at is None else look_at, record.id)
        yield ("HSET", keys.reviews(record.tenant), record.id, WaitingReview.of(record).stored())
    else:
        yield ("ZREM", keys.AWAITING_REVIEW, record.id)
        yield ("HDEL", keys.reviews(record.tenant), record.id)


def _list_by_status(record: JobRecord) -> Iterator[RedisCommand]:
    yield from _count_status(record, 1)
    yield ("ZADD", _listing(record, "status", record.status), record.created_at, record.id)
    if record.status is Status.QUEUED:
        yield ("ZADD", _queue(record), record.created_at, record.id)


def _list_override(record: JobRecord) -> RedisCommand:
    """List the job by its override, or remove it: a restart from the task discards the approval."""
    name = _listing(record, "override")
    return (
        ("ZADD", name, record.created_at, record.id)
        if record.override
        else ("ZREM", name, record.id)
    )


def _permanent_listings(record: JobRecord) -> Sequence[str]:
    """The listings that have the job until it is removed."""
    spec = record.spec
    values = [
        ("person", record.person or record.submitted_by),
        ("conversation", record.conversation_id),
        ("batch", record.batch_id),
        ("model", spec.model),
        ("repository", spec.repo.name if spec.repo else None),
        *(("label", label.strip()) for label in spec.labels),
    ]
    by_value = (_listing(record, field, value) for field, value in values if value)
    begins = (_listing(record, "conversations"),) if record.id == record.conversation_id else ()
    return (_listing(record), *begins, *by_value)


def _queue(record: JobRecord) -> str:
    return keys.queue(record.tenant, record.spec.priority)


def _listing(record: JobRecord, field: str = "", value: str = "") -> str:
    return keys.listing(record.tenant, field, value, kind=record.spec.kind)


def _update_ineligible_approvers(before: JobRecord, after: JobRecord) -> Iterator[RedisCommand]:
    """Keep the sets by which a person's list of reviews leaves out jobs that the person may not
    approve."""
    old, new = ineligible_approvers(before), ineligible_approvers(after)
    for identity_key in sorted(new - old):
        name = keys.ineligible_approvers(after.tenant, identity_key)
        yield ("ZADD", name, after.created_at, after.id)
    for identity_key in sorted(old - new):
        yield ("ZREM", keys.ineligible_approvers(after.tenant, identity_key), after.id)


def _line_arguments(record: JobRecord) -> Sequence[str]:
    """The first arguments of JOIN_LINE and LEAVE_LINE: see lua/commit.lua."""
    line = keys.line(record.tenant, record.conversation_id)
    tenant_keys = (keys.behind(record.tenant), keys.COUNTS, keys.queue(record.tenant, ""))
    return (line, record.id, keys.DUE, keys.JOB, *tenant_keys)


def _count_change(record: JobRecord) -> RedisCommand:
    """Count a change of the tenant's jobs, which `Listing.changes` reads."""
    return ("HINCRBY", keys.CHANGES, record.tenant, 1)


def _count_status(record: JobRecord, difference: int) -> Iterator[RedisCommand]:
    yield ("HINCRBY", keys.COUNTS, record.status, difference)
    if record.status is Status.QUEUED:
        yield ("HINCRBY", keys.COUNTS, keys.queued(record.spec.priority), difference)
    if record.key_id and record.status in (Status.QUEUED, Status.RUNNING):
        yield ("HINCRBY", keys.UNFINISHED, record.key_id, difference)
