"""J12: events have no gaps, say a thing once, and every stream sent them so."""

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
"""What names a fact of each kind: the same name twice is the same fact said twice."""


def gapless(case: ChaosCase) -> Iterator[Finding]:
    """Events on record: numbered from 1, one for each key, no fact said again."""
    for job in case.jobs:
        numbers = [event.seq for event in job.events]
        if numbers != list(range(1, len(numbers) + 1)):
            yield job.id, f"events are numbered {numbers}"
        keys = 0 if job.over else len(job.events)  # they end with a job that nothing goes on from
        if job.retry_of is None and job.facts != keys:
            yield job.id, f"{len(job.events)} events on record under {job.facts} keys"
        for name, times in Counter(_names(job)).items():
            if times > 1:
                yield job.id, f"{times} times: {name}"


def _names(job: JobRead) -> Iterator[Hashable]:
    """What each event is called. A job that is begun anew says all of its work again, and each
    decision of a person may be followed by a verification of the same files."""
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
    """Readers received the events on record, in order, each of them once."""
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
