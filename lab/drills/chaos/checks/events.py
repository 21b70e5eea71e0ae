"""J12: events have no gaps, report each fact once, and every stream sent them in this way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping

from jobs.model.events import FINAL_KINDS, Event
from lab.drills.chaos.checks.attempts import WORK
from lab.drills.chaos.checks.case import ChaosCase, Finding
from lab.drills.chaos.deployment.reading import JobRead
from lab.drills.chaos.oplog import Connected, Received

ONCE_BY: Mapping[str, tuple[str, ...]] = {
    "submitted": (),
    "started": ("attempt",),
    "model_called": ("call",),
    "run_finished": ("id",),
    "repaired": ("run",),
    "answered": ("revision",),
    "critiqued": ("revision",),
    "summarized": (),
    "review_opened": ("review_id",),
    "review_expired": ("review_id",),
    "decided": ("review_id",),
}
"""The fields that name a fact of each kind: two events with the same name report one fact twice."""


def gapless(case: ChaosCase) -> Iterator[Finding]:
    """Events on record are numbered from 1, each has one key, and no fact is reported twice."""
    for job in case.jobs:
        numbers = [event.seq for event in job.events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield job.id, f"events are numbered {numbers}"
        # If no job can continue this job, the keys of its events are removed.
        keys = 0 if job.over else len(job.events)
        if job.retry_of is None and job.facts != keys:
            yield job.id, f"{len(job.events)} events on record under {job.facts} keys"
        for name, times in Counter(_names(job)).items():
            if times > 1:
                yield job.id, f"{times} times: {name}"


def _names(job: JobRead) -> Iterator[Hashable]:
    """The name of the fact in each event. A job that is started again reports all of its work
    again, and after each decision of a person, the same files may be verified again.
    """
    starts = decisions = 0
    for event in job.events:
        starts += event.kind == "begun_anew"
        decisions += event.kind == "decided"
        if event.kind == "verified":
            yield starts, decisions, event.kind, event.data["revision"]
        elif (name := _name(event)) is not None:
            yield (starts, name) if event.kind in WORK else name


def _name(event: Event) -> Hashable:
    fields = ONCE_BY.get(event.kind)
    return None if fields is None else (event.kind, *(event.data[field] for field in fields))


def streamed(case: ChaosCase) -> Iterator[Finding]:
    """Readers received the events on record, in order and exactly once."""
    for job_id, readers in _streams(case).items():
        job = case.reading.jobs.get(job_id)
        for reader, entries in readers.items():
            yield from _one_stream(job_id, job, reader, entries)


def _streams(case: ChaosCase) -> dict[str, dict[str, list[Connected | Received]]]:
    streams: dict[str, dict[str, list[Connected | Received]]] = {}
    for entry in case.entries:
        if isinstance(entry, (Connected, Received)):
            streams.setdefault(entry.job_id, {}).setdefault(entry.reader, []).append(entry)
    return streams


def _one_stream(
    job_id: str, job: JobRead | None, reader: str, entries: list[Connected | Received]
) -> Iterator[Finding]:
    at = 0
    for entry in entries:
        if isinstance(entry, Connected):
            at = entry.after
        elif entry.seq != at + 1:
            difference = "again" if entry.seq <= at else f"without {at + 1}"
            yield job_id, f"reader {reader} received event {entry.seq} {difference}"
            at = max(at, entry.seq)
        else:
            at = entry.seq
        if isinstance(entry, Received) and job is not None:
            stored_kind = (
                job.events[entry.seq - 1].kind if 0 < entry.seq <= len(job.events) else "none"
            )
            if stored_kind != entry.kind:
                yield (
                    job_id,
                    f"event {entry.seq} was sent as {entry.kind}, on record is {stored_kind}",
                )
    sent = [entry for entry in entries if isinstance(entry, Received)]
    if sent and sent[-1].kind in FINAL_KINDS and job is None:
        yield job_id, "its end was sent, and it is not on record"
