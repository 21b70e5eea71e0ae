"""Which Redis commands a change of a record entails: its hash, indexes, listings, line (pure).

J3 lives here: a job that is not final is in exactly one of `due` and `awaiting_review`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from jobs.model.codec import dump, record_fields
from jobs.model.record import JobRecord, Status
from jobs.redis import keys
from jobs.redis.connection import Command
from jobs.redis.keys import JobKeys
from jobs.store import search
from jobs.store.spending import charged
from jobs.store.types import ENTRIES_KEPT, ConversationEntry, Writes
from jobs.transitions.change import IN_LINE_MS
from jobs.transitions.reviews import ineligible_approvers

FORGOTTEN_AT_ONCE = 1_000
"""Checkpoints that one step removes: they block Redis for some milliseconds. The rest of a longer
thread stays in its index and is removed with the job."""


def created(record: JobRecord, blobs: Sequence[str] = ()) -> Iterator[Command]:
    """A new job: record, index, listings, the end of its conversation's line."""
    yield _save(record, new=True)
    yield from _refer(JobKeys(record.id), blobs)
    yield ("ZADD", keys.DUE, record.due_at, record.id)
    yield _enter_line(record)
    yield ("ZADD", _listing(record), record.created_at, record.id)
    yield from _enter(record)
    for label in record.spec.labels:
        yield ("ZADD", _listing(record, label=label), record.created_at, record.id)
    yield from search.entered(record)
    yield _changes(record)


def inherited(retry_job: JobRecord, parent: JobRecord, facts: Sequence[str]) -> Iterator[Command]:
    """What a job takes over from its parent: the bytes, the checkpoint, journal and events'
    keys."""
    job, old = JobKeys(retry_job.id), JobKeys(parent.id)
    yield ("INHERIT", job.blobs, keys.REFERENCES, keys.UNREFERENCED, old.blobs)
    if retry_job.inherits == parent.id:
        yield ("COPY", old.journal, job.journal)
        yield from (("SADD", job.facts, fact) for fact in facts)


def changed(
    before: JobRecord, after: JobRecord, entry: ConversationEntry | None
) -> Iterator[Command]:
    """A change: the record, the index it belongs to, and the line when it is final."""
    yield _save(after)
    if after.graph != before.graph:
        yield ("HSET", JobKeys(after.id).record, "graph", str(after.graph or ""))
    yield from _index(after)
    if before.status is not after.status:
        yield from _count(before, -1)
        yield ("ZREM", _listing(after, status=before.status), after.id)
        yield from _enter(after)
    yield from _bar(before, after)
    yield _changes(after)
    if entry is not None:
        entries = keys.conversation(after.tenant, after.conversation_id)
        yield ("LPUSH", entries, dump([entry.job_id, entry.task, entry.summary, entry.workspace]))
        yield ("LTRIM", entries, 0, ENTRIES_KEPT - 1)
    if after.status.final:
        yield ("ADVANCE", *_line(after))
        yield ("ZADD", keys.FINISHED, after.updated_at, after.id)
    if after.over:
        yield ("UNLINK", *JobKeys(after.id).working)
        yield forgotten(after.id)
    if after.status is Status.CANCELLED:
        yield ("PUBLISH", keys.STOP, after.id)


def forgotten(job_id: str) -> Command:
    """Removes a job's checkpoints, so many in one step."""
    return ("FORGET", keys.CHECKPOINT, job_id, FORGOTTEN_AT_ONCE)


def removed(
    record: JobRecord, entries: Sequence[str], own_words: Sequence[str] = ()
) -> Iterator[Command]:
    """Removes a final job: its keys, its places in listings and in the search index, and `entries`
    of its conversation."""
    job = JobKeys(record.id)
    yield ("LETGO", job.blobs, keys.REFERENCES, keys.UNREFERENCED)
    once = (keys.once(record.tenant, record.once),) if record.once else ()
    yield ("UNLINK", *job.all, *once)
    yield from _count(record, -1)
    yield ("ZREM", keys.FINISHED, record.id)
    yield ("ZREM", _listing(record), record.id)
    yield ("ZREM", _listing(record, status=record.status), record.id)
    for label in record.spec.labels:
        yield ("ZREM", _listing(record, label=label), record.id)
    yield from search.left(record, own_words)
    yield _changes(record)
    for entry in entries:
        yield ("LREM", keys.conversation(record.tenant, record.conversation_id), 1, entry)


def written(job: JobKeys, epoch: int, writes: Writes) -> Iterator[Command]:
    """What an attempt puts on record."""
    if writes.journal:
        pairs = (part for item in writes.journal.items() for part in item)
        yield ("HSET", job.journal, *pairs)
        yield ("HSET", job.record, "progress_epoch", epoch)
    for charge in writes.charges:
        yield from charged(job, charge)
    if writes.workspace is not None:
        yield ("HSET", job.record, "workspace", writes.workspace)
    if writes.graph is not None:
        yield ("HSET", job.record, "graph", str(writes.graph))
    yield from _refer(job, writes.blobs)
    yield from writes.commands


def _refer(job: JobKeys, blobs: Sequence[str]) -> Iterator[Command]:
    if blobs:
        yield ("REFER", job.blobs, keys.REFERENCES, keys.UNREFERENCED, *blobs)


def _save(record: JobRecord, *, new: bool = False) -> Command:
    fields = record_fields(record, new=new)
    return ("HSET", JobKeys(record.id).record, *(part for item in fields.items() for part in item))


def _index(record: JobRecord) -> Iterator[Command]:
    waits = record.status is Status.AWAITING_REVIEW
    looks = not waits and not record.status.final
    if looks:
        yield ("ZADD", keys.DUE, record.due_at, record.id)
    else:
        yield ("ZREM", keys.DUE, record.id)
    if waits:
        look_at = record.review.look_at if record.review else None
        yield ("ZADD", keys.AWAITING_REVIEW, "+inf" if look_at is None else look_at, record.id)
    else:
        yield ("ZREM", keys.AWAITING_REVIEW, record.id)


def _enter(record: JobRecord) -> Iterator[Command]:
    yield from _count(record, 1)
    yield ("ZADD", _listing(record, status=record.status), record.created_at, record.id)


def _listing(record: JobRecord, *, status: str | None = None, label: str | None = None) -> str:
    return keys.listing(record.tenant, status=status, label=label, kind=record.spec.kind)


def _bar(before: JobRecord, after: JobRecord) -> Iterator[Command]:
    """Who may not approve what is open: a person's list of reviews leaves these jobs out."""
    was, now = ineligible_approvers(before), ineligible_approvers(after)
    for mark in sorted(now - was):
        yield ("ZADD", keys.ineligible_approvers(after.tenant, mark), after.created_at, after.id)
    for mark in sorted(was - now):
        yield ("ZREM", keys.ineligible_approvers(after.tenant, mark), after.id)


def _line(record: JobRecord) -> Command:
    line = keys.line(record.tenant, record.conversation_id)
    return (line, record.id, keys.DUE, keys.JOB, keys.behind(record.tenant), keys.COUNTS)


def _enter_line(record: JobRecord) -> Command:
    later = record.created_at + IN_LINE_MS
    return ("ENTER", *_line(record), record.spec.priority, later)


def _changes(record: JobRecord) -> Command:
    return ("HINCRBY", keys.CHANGES, record.tenant, 1)


def _count(record: JobRecord, by: int) -> Iterator[Command]:
    yield ("HINCRBY", keys.COUNTS, record.status, by)
    if record.status is Status.QUEUED:
        yield ("HINCRBY", keys.COUNTS, keys.queued(record.spec.priority), by)
    if record.key_id and record.status in (Status.QUEUED, Status.RUNNING):
        yield ("HINCRBY", keys.UNFINISHED, record.key_id, by)
